/** `until` gave up: its condition did not come true in the time that it was given. */
export class UntilError extends Error {
  override readonly name = 'UntilError'
}
