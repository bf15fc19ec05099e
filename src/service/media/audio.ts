/** All of audio in one module, which is loaded when the first request needs it. */
export { readAudioLength } from './audio-length.ts'
export { contentTypeOf, synthesizeSpeech } from './speech.ts'
export { toSrt, toVtt } from './subtitles.ts'
export { transcribe } from './transcript.ts'
