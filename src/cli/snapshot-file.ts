/** Says that a file is a snapshot: what `--fixtures` goes by. */
export const SNAPSHOT_ENDING = '.snapshot'
