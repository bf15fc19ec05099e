/** How the control room talks to a simulator: as `fetch` does, with a path of the server. */
export interface Connection {
  /** Where the control room lives: on a server, beside a simulator in the page, or in a saved page. */
  readonly home: 'server' | 'page' | 'file'
  /**
   * Sends a request to a path, as in `/_sim/clock` or `/deploy/list`. A stream of live events is the body of a response.
   *
   * @throws TypeError if no response arrives, as `fetch` does
   */
  send(path: string, init?: RequestInit): Promise<Response>
}
