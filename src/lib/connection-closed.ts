/**
 * Returns the error of `fetch` for a body whose connection the server closed.
 *
 * @param reason why it was closed, if that is known
 */
export function createConnectionClosedError(reason?: string): TypeError {
  const message = reason === undefined ? 'other side closed' : `other side closed: ${reason}`
  return new TypeError('terminated', { cause: Object.assign(new Error(message), { code: 'UND_ERR_SOCKET' }) })
}
