/** Where the pages of the console are. */
export const BASE = '/console';
export const SIGN_IN = `${BASE}/sign-in`;
export const SIGN_OUT = `${BASE}/sign-out`;
export const SETTINGS = `${BASE}/settings`;
export const CONFIGURATION = `${SETTINGS}/configuration`;
/** The list of keys; below it are the form for a new one, and a page for each. */
export const KEYS = `${CONFIGURATION}/api-keys`;
/** Keys of other organizations that address this one. */
export const ADDRESSING = `${KEYS}/addressing`;
