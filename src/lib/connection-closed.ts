/**
 * What `fetch` says of a body whose connection was closed by the other side.
 *
 * @param reason why it was, where that is known
 */
export function createConnectionClosedError(reason?: string): TypeError {
  const message = reason === undefined ? 'other side closed' : `other side closed: ${reason}`
  return new TypeError('terminated', { cause: Object.assign(new Error(message), { code: 'UND_ERR_SOCKET' }) })
}
