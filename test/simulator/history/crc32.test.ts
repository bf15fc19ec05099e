import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCrc32, portableCrc32 } from '../../../src/simulator/history/line-writer.ts'
import { anyText } from '../../lib/any-text.ts'
import { forAll } from '../../setup/for-all.ts'

test('crc32 gives the check value of its definition, and the same in both forms', () => {
  const crc32 = createCrc32()
  expect(crc32).not.toBe(portableCrc32)
  expect(portableCrc32('123456789', 0)).toBe(0xcbf43926)
  forAll([anyText, fc.nat(0xffffffff)], (text, before) => {
    expect(portableCrc32(text, before)).toBe(crc32(text, before))
  })
})
