import { z } from 'zod';
import { looseObject } from '#shared/core/record.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import { DashboardConfig } from '../../pages/dashboard-config.ts';
import { ChangeNote } from '../../versions/schemas.ts';
import {
  exampleDashboard,
  exampleDashboardCreate,
  exampleDashboardUpdate,
  exampleVersion,
  exampleVersionSummary,
} from './examples.ts';

export const DashboardID = z.object({ dashboardID: idOf('dashboard') });
export const DashboardVersionID = z.object({ dashboardID: idOf('dashboard'), dashboardVersionID: idOf('version') });

const described = { dashboardDescription: z.string().max(10_000).nullish(), folderID: idOf('folder').nullish() };

export const DashboardCreate = z
  .object({ dashboardTitle: Title, dashboardConfig: DashboardConfig, ...described })
  .meta({ id: 'DashboardCreate', examples: [exampleDashboardCreate] });

/** Absent fields stay as they are, null clears a field. */
export const DashboardUpdate = z
  .object({
    dashboardTitle: Title.optional(),
    dashboardConfig: DashboardConfig.optional(),
    ...described,
    changeNote: ChangeNote,
  })
  .meta({ id: 'DashboardUpdate', examples: [exampleDashboardUpdate] });

export const DashboardList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
  folderID: idOf('folder').optional(),
});

export const Dashboard = z
  .object({
    id: z.uuid(),
    dashboardID: z.uuid(),
    tenantID: z.uuid(),
    dashboardTitle: z.string(),
    dashboardDescription: z.string().nullable(),
    dashboardConfig: looseObject({}),
    versionNumber: z.int().describe('Of its latest version; the `ETag` has it too'),
    folderID: z.uuid().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Dashboard', examples: [exampleDashboard] });

export const Dashboards = z
  .object({ dashboards: z.array(Dashboard), ...pageFields, message: Message })
  .meta({ id: 'DashboardPage' });

/** Answer to a change: the dashboard, and a message to show. */
export const Changed = z.object({ dashboard: Dashboard, message: Message });

export const DashboardVersionSummary = z
  .object({
    dashboardVersionID: z.uuid(),
    dashboardID: z.uuid(),
    tenantID: z.uuid(),
    versionNumber: z.int(),
    dashboardTitle: z.string(),
    dashboardDescription: z.string().nullable(),
    changeNote: z.string().nullable(),
    creatorID: z.uuid().describe('Who saved it'),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'DashboardVersionSummary', examples: [exampleVersionSummary] });

export const DashboardVersion = DashboardVersionSummary.extend({ dashboardConfig: looseObject({}) }).meta({
  id: 'DashboardVersion',
  examples: [exampleVersion],
});
