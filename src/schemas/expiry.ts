/** The expiry of a key in a JSON request. */
import * as z from 'zod';

/** The options of schemas that refuse an expiry in the past. */
export interface ExpiryOptions {
  /** The keyring's clock. Default: `Date.now`. */
  readonly now?: () => number;
}

const expiryRule =
  "an ISO 8601 date-time with Z or an offset, such as 2030-01-31T12:00:00Z, or 'never'";
const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
// With an offset, the time can be after the year 9999, which keyscope's JSON cannot express.
const expressible = instant.refine(
  (date) => date.getUTCFullYear() <= 9999,
  `expiresAt: ${expiryRule}`,
);

/** A text that becomes a `Date`, or `never`. Not checked: whether it is in the past. */
export const expiresAt: z.ZodType<Date | 'never', string> = z.union(
  [z.literal('never'), expressible],
  `expiresAt: ${expiryRule}`,
);

/** Checks whether an expiry is missing, `never`, or after now. */
export function isAhead(expiry: Date | 'never' | undefined, now: () => number): boolean {
  return expiry === undefined || expiry === 'never' || expiry.getTime() > now();
}

/** Adds the issue for an expiry in the past. */
export function refusePast(context: z.core.$RefinementCtx): void {
  const message = 'expiresAt: must be in the future';
  context.addIssue({ code: 'custom', path: ['expiresAt'], message });
}
