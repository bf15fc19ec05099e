/** Rejects a wait or a move of time: the world that it began in was reset, restored or deleted. */
export class WorldReplaced extends Error {
  override readonly name = 'WorldReplaced'
}
