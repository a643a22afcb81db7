// node test/demo/client.mjs http://127.0.0.1:9867
import { connect, LakeFailure } from 'lake-data-service/client';

const lake = connect(process.argv[2]);
const pool = await lake.createPool('orders', { keys: [['at']] });
const main = pool.branch('main');

// Values go in as what they are: a Date is a time, a bigint an int64, a Map a map.
await main.insert(
  [
    { at: new Date(0), item: 'tea', cents: 450n },
    { at: new Date(1000), item: 'cake', cents: 2n ** 53n + 1n },
  ],
  { author: 'ann', message: 'first orders' },
);

// They come back one by one, exact, as the query finds them.
for await (const { item, cents } of lake.query('from orders | sort cents')) console.log(item, cents);

// A condition: only if nobody else has written meanwhile. A key: sent again after a lost connection, it is still one
// commit.
const tip = await main.tip();
await main.deleteWhere("item=='tea'", { ifMatch: tip, idempotencyKey: 'no tea' });
try {
  await main.deleteWhere("item=='cake'", { ifMatch: tip });
} catch (error) {
  if (error instanceof LakeFailure) console.log(error.status, error.kind);
}
console.log(await lake.query('from orders | count()').first());
await pool.delete();
