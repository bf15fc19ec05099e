/** Connects the page to the server that it came from. */
import type { Connection } from './connection.ts'

/** The control token of this tab. Only a server that other machines can reach requires one. */
const TOKEN_KEY = 'modelhost-sim control token'
const TOKEN_HEADER = 'x-sim-control-token'

export class HttpConnection implements Connection {
  readonly home = 'server'

  send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    const token = sessionStorage.getItem(TOKEN_KEY)
    // A request to the service of a world has a token of the service, which the control token must not replace.
    if (token !== null) headers.set(TOKEN_HEADER, token)
    return fetch(path, { ...init, headers })
  }

  /** Keeps the control token until the tab is closed. */
  useToken(token: string): void {
    sessionStorage.setItem(TOKEN_KEY, token)
  }
}
