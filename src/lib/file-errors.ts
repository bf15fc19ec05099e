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
