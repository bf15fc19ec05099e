/** Opens the control room of a saved page. */

import type { Connection } from '../simulator/connection.ts'

export function openControlRoom(root: HTMLElement, connection: Connection, _start: object = {}): void {
  Object.assign(window, { connection })
  root.textContent = 'open'
}
