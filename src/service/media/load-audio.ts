import { CodeOnDemand } from './code-on-demand.ts'

export const audioCode = new CodeOnDemand('audio', () => import('./audio.ts'))
