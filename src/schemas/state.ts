/** What became of a key. */
import * as z from 'zod';
import type { KeyState } from '../core/record.js';

/** Every state, in the order in which they are looked for. */
const STATES: readonly KeyState[] = [
  'revoked',
  'unknown_format',
  'orphaned',
  'damaged',
  'suspended',
  'retired',
  'expired',
  'live',
];

/** The state of a key that can be read. */
export const keyState: z.ZodType<KeyState, KeyState> = z.enum(STATES);
