/** The ending of the path of a snapshot file. An option that takes a fixture tells snapshots by it. */
export const SNAPSHOT_ENDING = '.snapshot'
