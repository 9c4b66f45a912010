import { AIConfig } from './ai-config.ts';
import { ApiKey } from './api-key.ts';
import { AppPage } from './app-page.ts';
import { AssetVersion } from './asset-version.ts';
import { AuditRecord } from './audit-record.ts';
import { BundleImport } from './bundle-import.ts';
import { CollectionRequest } from './collection-request.ts';
import { CronBackfill } from './cron-backfill.ts';
import { CronJob } from './cron-job.ts';
import { CronTick } from './cron-tick.ts';
import { Dashboard } from './dashboard.ts';
import { DataQuery } from './data-query.ts';
import { Datasource } from './datasource.ts';
import { Folder } from './folder.ts';
import { ImportJob } from './import-job.ts';
import { Invitation } from './invitation.ts';
import { Listener } from './listener.ts';
import { ListenerAction } from './listener-action.ts';
import { ListenerBreaker } from './listener-breaker.ts';
import { ListenerBuffer } from './listener-buffer.ts';
import { ListenerEvent } from './listener-event.ts';
import { Membership } from './membership.ts';
import { Notification } from './notification.ts';
import { OAuthConnection } from './oauth-connection.ts';
import { OAuthFlow } from './oauth-flow.ts';
import { OAuthRevocation } from './oauth-revocation.ts';
import { Operator } from './operator.ts';
import { OperatorAudit } from './operator-audit.ts';
import { OperatorSession } from './operator-session.ts';
import { PolicyRule } from './policy-rule.ts';
import { QueryRun } from './query-run.ts';
import { Role } from './role.ts';
import { RunBatch } from './run-batch.ts';
import { RunDelivery } from './run-delivery.ts';
import { RunEvent } from './run-event.ts';
import { Tenant } from './tenant.ts';
import { TenantFile } from './tenant-file.ts';
import { TenantFileChunk } from './tenant-file-chunk.ts';
import { TenantLogo } from './tenant-logo.ts';
import { TenantUser } from './tenant-user.ts';
import { TenantVariable } from './tenant-variable.ts';
import { ToolApproval } from './tool-approval.ts';
import { User } from './user.ts';
import { UserConfig } from './user-config.ts';
import { Widget } from './widget.ts';
import { WidgetLibraryEntry } from './widget-library-entry.ts';
import { Workflow } from './workflow.ts';
import { WorkflowInstance } from './workflow-instance.ts';
import { WorkflowVersion } from './workflow-version.ts';

/** Every table the entity manager knows. */
export const entities = [
  Tenant,
  TenantLogo,
  User,
  Membership,
  UserConfig,
  PolicyRule,
  ApiKey,
  Role,
  Invitation,
  TenantUser,
  TenantVariable,
  Folder,
  Dashboard,
  AppPage,
  AssetVersion,
  BundleImport,
  ImportJob,
  Notification,
  Workflow,
  WorkflowVersion,
  WorkflowInstance,
  RunBatch,
  RunDelivery,
  RunEvent,
  CollectionRequest,
  Datasource,
  DataQuery,
  Widget,
  WidgetLibraryEntry,
  CronJob,
  Listener,
  ListenerAction,
  ListenerBreaker,
  ListenerBuffer,
  ListenerEvent,
  CronTick,
  CronBackfill,
  QueryRun,
  TenantFile,
  TenantFileChunk,
  OAuthConnection,
  OAuthFlow,
  OAuthRevocation,
  Operator,
  OperatorSession,
  OperatorAudit,
  AuditRecord,
  AIConfig,
  ToolApproval,
];
