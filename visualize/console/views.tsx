/** All views: what they are called, and what they ask. */
import { views } from './lake.ts';
import { Ago, Name } from './parts.tsx';
import { link } from './route.ts';

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
              <Ago time={view.ts} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
