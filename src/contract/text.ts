/** Text from callers, and numbers in a query, which arrive as text. */

import { z } from "zod";
import { cleanText } from "../domain/clean-text.ts";

/** Text that PostgreSQL can hold: no NUL, no half of a surrogate pair. */
export const text = (max: number) =>
  z
    .string()
    .max(max, { error: `at most ${max} characters` })
    .refine((value) => cleanText(value) === value, {
      error: "holds a NUL character or half a surrogate pair",
    });

/** PostgreSQL's `integer`, which issue numbers are. */
export const MAX_INT32 = 2_147_483_647;

/** Digits become a number. `Number` alone would also take "", "0x10" and "1e1". */
const digits = (value: unknown): unknown =>
  typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;

const between = (least: number, most: number) => {
  const error = `a whole number from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
};

/** A whole number in a query. */
export const wholeNumber = (least: number, most: number) => z.preprocess(digits, between(least, most));

/** How many rows a listing answers. */
export const pageLimit = (standard: number) => z.preprocess(digits, between(1, 100).default(standard));

const integer = (value: unknown): unknown =>
  typeof value === "string" && /^-?\d{1,300}$/.test(value) ? Number(value) : value;

/** A whole number in a query that is brought within its bounds rather than refused. */
export const clamped = (least: number, most: number, standard: number) =>
  z
    .preprocess(integer, z.number({ error: "a whole number" }).default(standard))
    .transform((value) => Math.min(Math.max(value, least), most))
    .meta({ type: "integer", description: `Brought within ${least} and ${most}`, default: standard });
