/** Text as bytes, and the one comparison used for secrets. */

/**
 * Writes UTF-8. Callers make sure that the text is well-formed: a lone surrogate would become
 * U+FFFD.
 */
export const encoder: InstanceType<typeof TextEncoder> = new TextEncoder();

/**
 * Whether two ASCII texts are equal, without a data-dependent branch: every character is compared,
 * whatever the others were. Only a different length returns early, so compare texts of fixed
 * length, such as digests.
 */
export function equalText(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
