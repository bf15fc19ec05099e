import { CodeOnDemand } from '../code-on-demand.ts'

export const imageCode = new CodeOnDemand('images', () => import('./images.ts'))
