import * as z from 'zod'
import { neighbour } from '../endpoint.ts'
import { recordSchema } from '../fields.ts'

const CliVersions = recordSchema('CliVersions', { min: z.string(), update: z.string(), latest: z.string() })

const common = {
  auth: 'none',
  assumptions: [
    'min: older versions do not work; update: older versions are out of date; latest: the newest version',
    'every version works and is up to date: min and update are 0.0.0; version is not looked at',
  ],
  query: { version: z.string().optional() },
  returns: CliVersions,
  handle: () => ({ min: '0.0.0', update: '0.0.0', latest: '1.0.0' }),
} as const

export const getCliVersion = neighbour({
  ...common,
  route: 'GET /cli/version',
  summary: 'Get the versions of the command line of the service',
  example: { target: '/cli/version?version=1.0.0' },
})

export const checkCliVersion = neighbour({
  ...common,
  route: 'GET /cli/version/check',
  summary: 'Compare a version of the command line with the newest one',
  example: { target: '/cli/version/check?version=1.0.0' },
})
