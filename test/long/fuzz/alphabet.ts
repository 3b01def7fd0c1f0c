/** Digits and letters, in the order of base62. */
export const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A well-formed key that nobody issued. */
export const KEY = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';
