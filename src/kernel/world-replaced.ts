/** The error of a wait or a move of time whose world was reset, restored or deleted. */
export class WorldReplaced extends Error {
  override readonly name = 'WorldReplaced'
}
