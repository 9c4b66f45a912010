import { z } from 'zod';
import type { JsonObject } from '#shared/core/json.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { AssetVersion } from '#shared/entities/tables/asset-version.ts';
import { diffValues } from '#shared/workflow/graph/diff.ts';
import { type ApiRoute, tenantRoute } from '../context/routes.ts';
import { findPage, pageFields, pageQuery, standardPage } from '../http/fields/paging.ts';
import { ChangedPaths, DiffQuery } from '../http/fields/version-name.ts';
import { findPrevious, getVersion } from './asset-versions.ts';

/** A kind of assets whose versions clients may read. */
export interface VersionedKind {
  resource: 'dashboard' | 'appPage';
  /** Completes "Get a version of …". */
  noun: string;
  /** The kind in names of operations and schemas: `Dashboard`. */
  name: string;
  /** The path of one asset. */
  path: `/${string}`;
  /** Names of the parameters of the path. */
  ids: { asset: string; version: string };
  Summary: z.ZodObject;
  Version: z.ZodObject;
  /** Throws NOT_FOUND if there is no such asset. */
  get(em: EntityManager, id: string): Promise<unknown>;
  /** Presents a version without its config. */
  presentSummary(version: Omit<AssetVersion, 'config'>): Record<string, unknown>;
  presentVersion(version: AssetVersion): Record<string, unknown>;
  /** The part of a version that is compared with other versions. */
  contentOf(version: AssetVersion): JsonObject;
}

/**
 * The routes that list, read and compare versions. Restoring one writes the asset, so each resource has a route of its
 * own for that.
 */
export function versionRoutes(kind: VersionedKind): ApiRoute[] {
  const { resource, noun, name, path, ids, Summary, Version, presentSummary, presentVersion, contentOf } = kind;
  const permission = `${resource}.read` as const;
  const object = ({ params }: { params: Record<string, unknown> }) => `${resource}:${params[ids.asset]}`;
  const AssetID = z.object({ [ids.asset]: idOf(resource) });
  const VersionID = z.object({ [ids.asset]: idOf(resource), [ids.version]: idOf('version') });

  async function find(em: EntityManager, params: Record<string, unknown>) {
    const id = String(params[ids.asset]);
    await kind.get(em, id);
    return { id, version: (versionID: string | number) => getVersion(em, id, versionID) };
  }

  return [
    tenantRoute({
      name: `list${name}Versions`,
      method: 'get',
      path: `${path}/versions`,
      summary: `List versions of ${noun}`,
      description: `Returns the versions of ${noun} without their configs, newest first: who saved each, and when. The last 100 are kept.`,
      permission,
      object,
      params: AssetID,
      query: z.object(pageQuery(standardPage)),
      response: z.object({ versions: z.array(Summary), ...pageFields }).meta({ id: `${name}VersionPage` }),

      async handle({ params, query, em }) {
        const { id: assetID } = await find(em, params);
        const { rows, fields } = await findPage(em, AssetVersion, { where: { assetID }, query, exclude: ['config'] });
        return { versions: rows.map(presentSummary), ...fields };
      },
    }),

    tenantRoute({
      name: `get${name}Version`,
      method: 'get',
      path: `${path}/versions/:${ids.version}`,
      summary: `Get a version of ${noun}`,
      description: `Returns what was saved as a version of ${noun}.`,
      permission,
      object,
      params: VersionID,
      response: z.object({ version: Version }),

      async handle({ params, em }) {
        const { version } = await find(em, params);
        return { version: presentVersion(await version(String(params[ids.version]))) };
      },
    }),

    tenantRoute({
      name: `diff${name}Version`,
      method: 'get',
      path: `${path}/versions/:${ids.version}/diff`,
      summary: `Compare versions of ${noun}`,
      description: 'Returns the paths of all values that a version added, removed or changed.',
      permission,
      object,
      params: VersionID,
      query: DiffQuery,
      response: z.object({
        diff: z
          .object({
            before: Summary.nullable().describe('Null for the oldest version that is kept'),
            after: Summary,
            paths: ChangedPaths.describe(
              'At most 12 steps deep. A value in which more than 100 values differ is named itself',
            ),
          })
          .meta({ id: `${name}VersionDiff` }),
      }),

      async handle({ params, query: { against }, em }) {
        const { version } = await find(em, params);
        const after = await version(String(params[ids.version]));
        const before = against === undefined ? await findPrevious(em, after) : await version(against);
        return {
          diff: {
            before: before && presentSummary(before),
            after: presentSummary(after),
            paths: diffValues(before ? contentOf(before) : {}, contentOf(after)),
          },
        };
      },
    }),
  ];
}
