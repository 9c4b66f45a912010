import { z } from 'zod';
import { quote } from '#shared/core/quote.ts';
import { ID } from './id.ts';

/** An id, or a number that counts the versions of an asset. */
export const VersionName = z
  .string()
  .max(100)
  .transform((text, check): string | number => {
    const id = ID.safeParse(text);
    if (id.success) return id.data;
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    check.addIssue({ code: 'custom', message: `expected the id or the number of a version, received ${quote(text)}` });
    return z.NEVER;
  });

/** A version in a JSON body, where its number is a number and not a text. */
export const VersionInBody = z.union([z.int().min(1).max(999_999_999), VersionName]);

/** The version to compare with. */
export const DiffQuery = z.object({
  against: VersionName.optional().describe(
    'The id or the number of the version to compare with; without it, the version before',
  ),
});

/** Paths of differences between two versions. */
export const ChangedPaths = z.array(z.array(z.union([z.string(), z.int()])));
