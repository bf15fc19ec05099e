/** Returns the result of code that may be of a user, such as a getter or a proxy; undefined if it throws. */
export function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
