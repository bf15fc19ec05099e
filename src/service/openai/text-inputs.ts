/** Inputs that are a text, an array of tokens, or an array of either. */
import * as z from 'zod'
import { integer } from '../fields.ts'

export const TokenArray = z.array(integer({ min: 0 })).min(1)

/** Returns the input as a list, each entry a text or an array of tokens. */
export function toInputList(input: string | string[] | number[] | number[][]): readonly (string | number[])[] {
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number' ? [input as number[]] : (input as (string | number[])[])
}
