/** All views: what they are called, and what they ask. */
import { views } from './lake.ts';
import { clock, Name } from './parts.tsx';
import { link } from './route.ts';
import { ago, dateTime } from './text.ts';

/** The views, with what they say; the query page reads them, makes new ones and drops them. */
export const Views = () => (
  <div class="panel table-panel">
    <table class="views">
      <thead>
        <tr>
          <th scope="col">View</th>
          <th scope="col">Query</th>
          <th scope="col">Changed</th>
        </tr>
      </thead>
      <tbody>
        {views.value.map((view) => (
          <tr key={view.id}>
            <th scope="row" class="name">
              <a href={link(['query'], { pool: view.name })}>
                <Name text={view.name} max={120} />
              </a>
            </th>
            <td class="key" data-label="Query">
              <code>
                <Name text={view.query} max={200} />
              </code>
            </td>
            <td class="created soft" data-label="Changed">
              <time dateTime={view.ts} title={dateTime(view.ts)}>
                {ago(view.ts, clock.value)}
              </time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
