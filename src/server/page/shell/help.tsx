import { DetailsHead } from '../parts/details-head.tsx'
import { KEYS } from './keyboard.ts'

/** The keys of the page. */
export function Help({ close }: { close: () => void }) {
  return (
    <div class="overlay" role="dialog" aria-modal="true" aria-label="Keys">
      <div class="overlay-box">
        <DetailsHead what="the help" close={close}>
          <h2>Keys</h2>
        </DetailsHead>
        <table>
          <tbody>
            {KEYS.map(([keys, meaning]) => (
              <tr key={keys}>
                <th scope="row">
                  <kbd>{keys}</kbd>
                </th>
                <td>{meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p class="faint">“JSON” shows the data’s address. After most actions, “Copy as curl” copies the command.</p>
      </div>
    </div>
  )
}
