/**
 * What `fetch` says of a body whose connection was closed by the other side.
 *
 * @param reason why it was, where that is known
 */
export function bodyCut(reason?: string): TypeError {
  const said = reason === undefined ? 'other side closed' : `other side closed: ${reason}`
  return new TypeError('terminated', { cause: Object.assign(new Error(said), { code: 'UND_ERR_SOCKET' }) })
}
