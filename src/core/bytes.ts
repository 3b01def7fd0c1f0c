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
export function equalText(first: string, second: string): boolean {
  if (first.length !== second.length) return false;
  let difference = 0;
  for (let i = 0; i < first.length; i++) difference |= first.charCodeAt(i) ^ second.charCodeAt(i);
  return difference === 0;
}
