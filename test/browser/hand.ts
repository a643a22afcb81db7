/** What a hand does with a page, once the page is ready for it. */
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Drops a file on the page as a hand does. */
export const drop = async (page: Page, name: string, body: Buffer | string): Promise<void> => {
  const bytes = `Uint8Array.from(atob(${JSON.stringify(Buffer.from(body).toString('base64'))}), (c) => c.charCodeAt(0))`;
  const held = async (): Promise<unknown> =>
    page.evaluate(`(() => {
      globalThis.held = new DataTransfer();
      held.items.add(new File([${bytes}], ${JSON.stringify(name)}));
      return !dispatchEvent(new DragEvent('dragover', { dataTransfer: held, bubbles: true, cancelable: true }));
    })()`);
  // A page that takes files says so of what is held over it; until then nobody would let go.
  await expect.poll(held, { message: 'the page takes files' }).toBe(true);
  await page.evaluate(
    `void dispatchEvent(new DragEvent('drop', { dataTransfer: held, bubbles: true, cancelable: true }))`,
  );
};

/** Where a part of the page is for the mouse, once nothing moves it any more. */
export const placeOf = async (part: Locator): Promise<NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>> => {
  let before = '';
  await expect
    .poll(async () => {
      const last = before;
      before = JSON.stringify(await part.boundingBox());
      return before !== 'null' && before === last;
    })
    .toBe(true);
  return (await part.boundingBox())!;
};
