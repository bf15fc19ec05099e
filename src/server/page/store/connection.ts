/** Where the page runs: beside a server, with the simulator in the page, or as a saved file that runs the world again. */
export type Home = 'server' | 'page' | 'file'

/** How the page talks to a simulator. */
export interface Connection {
  readonly home: Home
  /**
   * Sends a request to the service or the control plane, as `fetch` does.
   *
   * @param path of the server, with its query: `/_sim/clock`, `/_sim/worlds/w1/deploy/list`
   */
  send(path: string, init?: RequestInit): Promise<Response>
}
