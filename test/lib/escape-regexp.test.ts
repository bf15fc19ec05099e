import { expect, test } from 'vitest'
import { escapeRegExp } from '../../src/lib/patterns.ts'

const PRINTABLE = String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i))

test.each([PRINTABLE, '', '/a/{b}-c.*'])('escapeRegExp makes %j match itself, with and without the flag u', text => {
  expect(new RegExp(`^${escapeRegExp(text)}$`).test(text)).toBe(true)
  expect(new RegExp(`^${escapeRegExp(text)}$`, 'u').test(text)).toBe(true)
})

test('escapeRegExp leaves no character with a meaning of its own', () => {
  expect(new RegExp(`^${escapeRegExp('a.c')}$`).test('abc')).toBe(false)
})
