import { ApiKey } from './api-key.ts';
import { CollectionRequest } from './collection-request.ts';
import { Membership } from './membership.ts';
import { Operator } from './operator.ts';
import { OperatorAudit } from './operator-audit.ts';
import { OperatorSession } from './operator-session.ts';
import { PolicyRule } from './policy-rule.ts';
import { RunEvent } from './run-event.ts';
import { Tenant } from './tenant.ts';
import { TenantLogo } from './tenant-logo.ts';
import { User } from './user.ts';
import { UserConfig } from './user-config.ts';
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
  Workflow,
  WorkflowVersion,
  WorkflowInstance,
  RunEvent,
  CollectionRequest,
  Operator,
  OperatorSession,
  OperatorAudit,
];
