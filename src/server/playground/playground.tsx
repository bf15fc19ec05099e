/** The playground: a simulator in the page, an editor with examples, and the control room beside it. */

import { render } from 'preact'
import { openPage } from '../page/main.tsx'
import { openSimulatorInPage } from '../saved-page/connect.ts'
import { Editor, EditorPanel } from './editor.tsx'
import { writePage } from './write-page.ts'

/**
 * Opens the playground.
 *
 * @param editorRoot gets the editor
 * @param roomRoot gets the control room; its id is `app`
 */
export function openPlayground(editorRoot: HTMLElement, roomRoot: HTMLElement): void {
  const connection = openSimulatorInPage({ fixtures: 'default', seed: 1, clock: 'manual' }, { writePage })
  const world = connection.worlds.default
  connection.pasts.keep(world.sim)
  // For the console of the browser: await simulator.send('/_sim/digest').
  Object.assign(globalThis, { simulator: connection })
  render(<EditorPanel editor={new Editor(connection, world.token!)} />, editorRoot)
  openPage(roomRoot, connection)
}
