/**
 * Computes digests and seals a second time, only from the written format, with the platform's HKDF
 * and HMAC. It shares no line with the core, so that any change of the stored format shows.
 */
import { createHash, createHmac, hkdfSync } from 'node:crypto';
import type { KeyRecord, Pepper } from 'keyscope';

/** The fields of a record that never change. */
export const NEVER_CHANGES: readonly string[] = [
  'format',
  'keyId',
  'prefix',
  'hint',
  'name',
  'digest',
  'entityId',
  'accessibleEntities',
  'scopes',
  'justification',
  'metadata',
  'createdAt',
  'createdBy',
  'expiresAt',
  'rotatedFrom',
  'rootKeyId',
  'issuedUnder',
  'trust',
];

/** The additional fields that the seal of a revocation covers. */
export const END: readonly string[] = ['revokedAt', 'endedBy', 'endReason'];

/** The scope of a seal, and its secret. */
export interface Sealer {
  readonly pepper: Pepper;
  readonly prefix: string;
  readonly deployment: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the digest that a store keeps of a key. */
export function referenceDigest(key: string, pepper: Pepper | null): string {
  if (pepper === null) return `s1$${createHash('sha256').update(key, 'utf8').digest('hex')}`;
  const mac = createHmac('sha256', Buffer.from(pepper.secret)).update(key, 'utf8');
  return `h1.${pepper.id}$${mac.digest('hex')}`;
}

/** Returns the seal of a record; `names` are the fields that it covers. */
export function referenceSeal(
  sealer: Sealer,
  record: KeyRecord,
  names: readonly string[] = NEVER_CHANGES,
): string {
  return mac(sealer, 'keyscope seal', fieldsText({ ...record }, names));
}

/** Returns the seal of a revoked record. */
export function referenceRevocationSeal(sealer: Sealer, record: KeyRecord): string {
  const fields = { ...record };
  const text = fieldsText(fields, NEVER_CHANGES) + fieldsText(fields, END);
  return mac(sealer, 'keyscope revocation', text);
}

function mac({ pepper, prefix, deployment }: Sealer, kind: string, text: string): string {
  const label = listText([textText(kind), 'i1;', textText(prefix), textText(deployment)]);
  const secret = Buffer.from(pepper.secret);
  const key = hkdfSync('sha256', secret, Buffer.alloc(0), Buffer.from(label, 'utf8'), 32);
  return createHmac('sha256', Buffer.from(key)).update(text, 'utf8').digest('hex');
}

/** Encodes the fields that are not null, each after its name, in the order of their names. */
export function fieldsText(fields: Fields, names: readonly string[]): string {
  const present = [...names].sort().filter((name) => (fields[name] ?? null) !== null);
  const texts = present.map((name) => `${textText(name)}${valueText(fields[name])}`);
  return `f${texts.length}:${texts.join('')}`;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return textText(value);
  if (typeof value === 'number') return `i${value};`;
  if (Array.isArray(value)) return listText(value.map(valueText));
  const table = value as Fields;
  const names = Object.keys(table).sort();
  return listText(names.map((name) => listText([textText(name), valueText(table[name])])));
}

/** Encodes a text. Its length is that of JavaScript: a character beyond 16 bits counts twice. */
function textText(text: string): string {
  return `s${text.length}:${text}`;
}

function listText(items: readonly string[]): string {
  return `l${items.length}:${items.join('')}`;
}
