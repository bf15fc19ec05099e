/** The words of the model hub for tasks. */
import { MODEL_TASKS } from '../data/records/enums.ts'

/** Tasks that the simulator has no answers for: such a model is served as `custom`. */
export const OTHER_TASKS = [
  'image-classification',
  'question-answering',
  'token-classification',
  'fill-mask',
  'zero-shot-image-classification',
  'text2text-generation',
  'text-classification',
  'object-detection',
  'dreambooth',
  'text-to-video',
  'rent-container',
] as const

export const HUB_TASKS = [...MODEL_TASKS, ...OTHER_TASKS] as const
