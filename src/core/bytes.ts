/** Encodes text as bytes, and compares secrets. */

/** Encodes UTF-8. The caller must pass well-formed text: a lone surrogate would become U+FFFD. */
export const encoder: InstanceType<typeof TextEncoder> = new TextEncoder();

/**
 * Checks whether two ASCII texts are equal, without a data-dependent branch: it compares every
 * character, even after a difference. Only a different length returns early, so compare texts of
 * fixed length, such as digests.
 */
export function equalText(first: string, second: string): boolean {
  if (first.length !== second.length) return false;
  let difference = 0;
  for (let i = 0; i < first.length; i++) difference |= first.charCodeAt(i) ^ second.charCodeAt(i);
  return difference === 0;
}
