/** The types of models that native inference serves. */
import type { ModelTask } from '../../data/records/enums.ts'
import { CUSTOM_INFERENCE } from './custom.ts'
import { EMBEDDINGS_INFERENCE } from './embeddings.ts'
import { IMAGE_INFERENCE } from './images.ts'
import type { NativeProtocol } from './protocol.ts'
import { RERANK_INFERENCE } from './reranking.ts'
import { SPEECH_INFERENCE } from './speech.ts'
import { TEXT_INFERENCE } from './text.ts'
import { TRANSCRIPTION_INFERENCE } from './transcription.ts'

// Each protocol gets only what it made itself, so their own types do not matter here.
// biome-ignore lint/suspicious/noExplicitAny: only `any` holds protocols of different bodies
export type AnyNativeProtocol = NativeProtocol<any, any, any, any>

export const NATIVE_PROTOCOLS = {
  'text-generation': TEXT_INFERENCE,
  embeddings: EMBEDDINGS_INFERENCE,
  'text-to-image': IMAGE_INFERENCE,
  'text-to-speech': SPEECH_INFERENCE,
  'automatic-speech-recognition': TRANSCRIPTION_INFERENCE,
  reranker: RERANK_INFERENCE,
  custom: CUSTOM_INFERENCE,
} as const satisfies Readonly<Record<ModelTask, AnyNativeProtocol>>
