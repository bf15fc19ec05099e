import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findSshKeyProblem, sshKeyIdentity } from '../../src/lib/ssh-public-key.ts'
import { forAll } from '../setup/for-all.ts'

// Written by ssh-keygen of OpenSSH.
const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExrXI5xj8Uk2P4xobchZMNsLgRmsx1lppx7hduKbLwl x@y'
const RSA =
  'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDE36xsag5QJFGut5t30vTgLBhV2/+PDdwHz2ihhDJiaIEKeHGhTYGXk0RVjaZjOrO8CARQSQVoZEDu' +
  'PUPhuN9hRluIWoQf2BFM4Yg9iGuJVmGtZ4eX1yHDE7bAYxyExtIGJIicM5qRdeyv68s37wLGo0wacrvVbg/4eHgZM5dvFJWfLTf/Q5V0lZVi0Uk3eLwb' +
  'F7Kw+jg57MLQ0ZhU5Kb2QR/RA8HU+HB96bBLwXIdNwn3L/PNUlHH0Z/IItMr6q5kP7+HwmBzlbnNxWW36F0bkGytI7SJ+gXd3uSapRzfA+anjVXalf2R' +
  'T2H0t40ZjT+V2LhOpY7QdqahUAcZi3eJ x@y'
const P256 =
  'ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBM3Q9vL2k6NmkFFC8u8mBb3eVJBcVM7lRte6UlY9aKXY' +
  'haUgvGDB8MkG9szvWt2mavpenuHVqmRv2Jp704f8wr0='
const P384 =
  'ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBAZXIquzANFdupIV9bvLDR6+VYzZGCkJm2vozQMtTGSm' +
  'E0fAjrVgVLlpPLRlbp08dU6Wd4BLr4d7wGfFRFeHg3zC5HDlcW+MX0unBImxV1ItFSiqtNB19eM7irHtAX/1+A=='
const P521 =
  'ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBAHKZQFajfY0L/H4vm1Yog0yTG6ANQLaS84BM1Vt7IZo' +
  'KzD6pxD2uQm+TXqsChZvoYyKyNEUTf5oa/zobgJXIGlTZQB39xJTH2+FlZBjzWAniw/gf4ZGC0bqchc2xbSaZv+wVSJk6qCqvOgxcpimaZQuyESKK+tA' +
  '6dj3y7zrdriDvlFp5g=='

const part = (value: string | Uint8Array) => {
  const bytes = Buffer.from(value as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
const line = (type: string, ...values: (string | Uint8Array)[]) =>
  `${type} ${Buffer.concat([type, ...values].map(part)).toString('base64')}`
const bytes = (count: number, first = 0x44) => Uint8Array.from({ length: count }, (_, i) => (i === 0 ? first : 0x55))

describe('a public SSH key', () => {
  test.each([
    ['ssh-ed25519', ED25519],
    ['ssh-rsa', RSA],
    ['ecdsa-sha2-nistp256', P256],
    ['ecdsa-sha2-nistp384', P384],
    ['ecdsa-sha2-nistp521', P521],
    ['sk-ssh-ed25519@openssh.com', line('sk-ssh-ed25519@openssh.com', bytes(32), 'ssh:')],
    [
      'sk-ecdsa-sha2-nistp256@openssh.com',
      line('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', bytes(65, 4), 'ssh:'),
    ],
  ])('of the type %s is valid', (_, text) => {
    expect(findSshKeyProblem(text)).toBeUndefined()
  })

  test('can have a comment, and spaces and line ends around it', () => {
    expect(findSshKeyProblem(`  ${ED25519} of two words\n`)).toBeUndefined()
    expect(sshKeyIdentity(`${ED25519} more\n`)).toBe(sshKeyIdentity(ED25519.replace(' x@y', '')))
    expect(sshKeyIdentity(P256)).not.toBe(sshKeyIdentity(P384))
  })

  test.each([
    ['', /^expected a type and a key/],
    ['ssh-ed25519', /^expected a type and a key/],
    ['-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----', /private key/],
    [`${ED25519}\n${P256}`, /several lines/],
    [`no-pty ${ED25519}`, /^unsupported key type; use ssh-ed25519, ssh-rsa/],
    ['ssh-dss AAAA', /unsupported key type/],
    ['__proto__ AAAA', /unsupported key type/],
    ['ssh-ed25519 AAA', /base64/],
    ['ssh-ed25519 AA?A', /base64/],
    [ED25519.replace('IExrXI5', ''), /base64|incomplete/],
    [ED25519.replace('ssh-ed25519', 'ssh-rsa'), /not of the type ssh-rsa/],
    [line('ssh-ed25519', bytes(32), 'more'), /2 parts, not 3/],
    [line('ssh-ed25519'), /2 parts, not 1/],
    [line('sk-ssh-ed25519@openssh.com', bytes(32), ''), /incomplete/],
  ])('a key that is not valid is refused: %#', (text, reason) => {
    expect(findSshKeyProblem(text)).toMatch(reason)
  })

  test('is not valid any more when a byte of its length or type is missing', () => {
    const [type, base64] = ED25519.split(' ') as [string, string]
    const whole = Buffer.from(base64, 'base64')
    forAll([fc.integer({ min: 0, max: whole.length - 1 })], cut => {
      expect(findSshKeyProblem(`${type} ${whole.subarray(0, cut).toString('base64')}`)).toBeDefined()
    })
  })

  test('of any text is an answer, never an error', () => {
    forAll([fc.string()], text => void findSshKeyProblem(text))
    forAll([fc.base64String()], text => void findSshKeyProblem(`ssh-rsa ${text}`))
  })
})
