/** Returns the result of code that may be of a user, such as a getter or a proxy; undefined if it throws. */
export function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'the file or folder is missing',
  EISDIR: 'it is a folder',
  EEXIST: 'a file of this name exists already',
  ENOTDIR: 'its parent is not a folder',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOSPC: 'no space is left on the disk',
  ERR_STRING_TOO_LONG: 'it is larger than 512 MiB',
  ERR_FS_FILE_TOO_LARGE: 'it is larger than 2 GiB',
}

/** Returns why the file system refused something, in words for the user. */
export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return REASONS[code ?? ''] ?? message
}

/**
 * Returns the error of `fetch` for a body whose connection the server closed.
 *
 * @param reason why it was closed, if that is known
 */
export function createConnectionClosedError(reason?: string): TypeError {
  const message = reason === undefined ? 'other side closed' : `other side closed: ${reason}`
  return new TypeError('terminated', { cause: Object.assign(new Error(message), { code: 'UND_ERR_SOCKET' }) })
}

/**
 * Makes `instanceof` of a class accept objects of its other copies: the command line and the library have one each, and a
 * script that the command line runs meets both.
 *
 * @param name names the class in each copy. A bundler can change the name of the class itself.
 */
export function acceptCopies(type: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`modelhost-sim.${name}`)
  Object.defineProperty(type.prototype, mark, { value: true })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: object, it: unknown) {
      return this === type ? mark in Object(it) : Function.prototype[Symbol.hasInstance].call(this, it)
    },
  })
}
