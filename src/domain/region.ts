/** What a region's name may be: 1 to 64 characters that can stand in a marker and in a `homeRegion:` tag. */
export const REGION_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

/** Whether `text` may name a region. */
export function isRegion(text: string): boolean {
  return REGION_PATTERN.test(text);
}
