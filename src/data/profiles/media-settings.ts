import { setting } from './setting.ts'
import { countFromOne, duration, portion } from './setting-kinds.ts'

/** Durations of media and custom models. All are for one H100 that does nothing else. */
export const mediaTimings = {
  image_fixed: setting(duration, 'Time of one image that is independent of its size and of the model.'),
  image_step: setting(
    duration,
    'Further time of one image for each step, each 1,024 × 1,024 pixels and each billion parameters.',
  ),
  speech_fixed: setting(duration, 'Time of a request for speech that is independent of its length.'),
  speech_per_second: setting(duration, 'Further time for each second of speech and each billion parameters.'),
  transcription_fixed: setting(duration, 'Time of a transcription that is independent of its length.'),
  transcription_per_second: setting(
    duration,
    'Further time for each second of transcribed audio and each billion parameters.',
  ),
  custom_fixed: setting(duration, 'Time of a request to a custom model that is independent of its size.'),
  custom_per_billion: setting(duration, 'Further time of a request to a custom model for each billion parameters.'),
  webhook_attempts: setting(countFromOne, 'Attempts to deliver the result of a request to its webhook.'),
  webhook_back_off: setting(
    duration,
    'Time from a failed attempt to the next one. It doubles with each further attempt.',
  ),
  work_sharing: setting(
    portion,
    'Share of its time alone by which each other request on its instance delays a media request.',
  ),
}
