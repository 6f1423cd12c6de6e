/**
 * What a claim's `owner` may be, from api.md: 1 to 128 of these characters.
 *
 * The alphabet holds no space, `<` or `>`, so an owner can neither split a marker's fields nor end the
 * comment that the marker is. `--` stays legal: a comment ends at `-->` only, which needs a `>`.
 */
export const OWNER_PATTERN = /^[A-Za-z0-9._:@/+-]{1,128}$/;

/** Whether `text` may name the owner of a claim. */
export function isOwner(text: string): boolean {
  return OWNER_PATTERN.test(text);
}
