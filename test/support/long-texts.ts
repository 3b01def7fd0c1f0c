/** Texts that are slow to decode or mask: each is repeated up to a length. */
export const LONG_TEXTS: readonly string[] = [
  'a',
  '_',
  'acme_',
  'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY ',
  '%61',
  '%2561',
  '%25',
  '\\x61',
  '&amp;',
  '&#0000',
  '\u200b',
  'e\u0301\u0302',
  '\ufdfa',
];

export const MEGABYTE = 2 ** 20;

/** Repeats a part up to this length. */
export function repeated(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}
