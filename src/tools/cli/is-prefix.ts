/** What a prefix may be, asked of what people wrote. */
import { createKeyFormat } from '../../core/key.js';

/** Whether keys can begin with it. */
export function isPrefix(text: unknown): boolean {
  try {
    createKeyFormat(text);
    return true;
  } catch {
    return false;
  }
}
