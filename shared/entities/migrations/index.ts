import type { Migration } from '@mikro-orm/migrations';
import { Migration20261121000000_Foundation } from './Migration20261121000000_Foundation.ts';
import { Migration20261121120000_ApiKeys } from './Migration20261121120000_ApiKeys.ts';
import { Migration20261121130000_Operators } from './Migration20261121130000_Operators.ts';
import { Migration20261121140000_Roles } from './Migration20261121140000_Roles.ts';
import { Migration20261121150000_TenantSecrets } from './Migration20261121150000_TenantSecrets.ts';
import { Migration20261121155000_People } from './Migration20261121155000_People.ts';
import { Migration20261121160000_TenantDatabases } from './Migration20261121160000_TenantDatabases.ts';
import { Migration20261121170000_Datasources } from './Migration20261121170000_Datasources.ts';
import { Migration20261121180000_TenantFiles } from './Migration20261121180000_TenantFiles.ts';
import { Migration20261121190000_ResultPages } from './Migration20261121190000_ResultPages.ts';
import { Migration20261121200000_OAuthConnections } from './Migration20261121200000_OAuthConnections.ts';
import { Migration20261122090000_HandBacks } from './Migration20261122090000_HandBacks.ts';
import { Migration20261122091000_SweepLeader } from './Migration20261122091000_SweepLeader.ts';
import { Migration20261122104100_Suspects } from './Migration20261122104100_Suspects.ts';
import { Migration20261122105500_AwaitedRuns } from './Migration20261122105500_AwaitedRuns.ts';
import { Migration20261122105700_RunNotices } from './Migration20261122105700_RunNotices.ts';
import { Migration20261122110000_SealedAnswers } from './Migration20261122110000_SealedAnswers.ts';
import { Migration20261122110500_TenantServers } from './Migration20261122110500_TenantServers.ts';
import { Migration20261122112000_Frames } from './Migration20261122112000_Frames.ts';
import { Migration20261122112500_TenantConnections } from './Migration20261122112500_TenantConnections.ts';
import { Migration20261122113000_OneRowPerStep } from './Migration20261122113000_OneRowPerStep.ts';
import { Migration20261122114000_RetentionIndexes } from './Migration20261122114000_RetentionIndexes.ts';
import { Migration20261122115500_Checkpoints } from './Migration20261122115500_Checkpoints.ts';
import { Migration20261122120000_Quotas } from './Migration20261122120000_Quotas.ts';
import { Migration20261122120600_DatabaseMoves } from './Migration20261122120600_DatabaseMoves.ts';
import { Migration20261122120700_DatabaseSizes } from './Migration20261122120700_DatabaseSizes.ts';
import { Migration20261122133000_WorkflowVersions } from './Migration20261122133000_WorkflowVersions.ts';
import { Migration20261122140300_FrameKeys } from './Migration20261122140300_FrameKeys.ts';
import { Migration20261122140500_Variables } from './Migration20261122140500_Variables.ts';
import { Migration20261122141300_OpenRuns } from './Migration20261122141300_OpenRuns.ts';
import { Migration20261122143000_RunFilters } from './Migration20261122143000_RunFilters.ts';
import { Migration20261122171000_RunBatches } from './Migration20261122171000_RunBatches.ts';
import { Migration20261122173000_Reruns } from './Migration20261122173000_Reruns.ts';
import { Migration20261122180000_Admission } from './Migration20261122180000_Admission.ts';
import { Migration20261122181500_BatchJobs } from './Migration20261122181500_BatchJobs.ts';
import { Migration20261122183000_RequestWorkflows } from './Migration20261122183000_RequestWorkflows.ts';
import { Migration20261122183500_ForgottenRuns } from './Migration20261122183500_ForgottenRuns.ts';
import { Migration20261122194500_WorkflowEvents } from './Migration20261122194500_WorkflowEvents.ts';
import { Migration20261122195500_Pauses } from './Migration20261122195500_Pauses.ts';
import { Migration20261122202500_Maps } from './Migration20261122202500_Maps.ts';
import { Migration20261122203700_Reminders } from './Migration20261122203700_Reminders.ts';
import { Migration20261122204500_RunLogs } from './Migration20261122204500_RunLogs.ts';
import { Migration20261122205800_FailureHandlers } from './Migration20261122205800_FailureHandlers.ts';
import { Migration20261122225500_CronJobs } from './Migration20261122225500_CronJobs.ts';
import { Migration20261122231700_Listeners } from './Migration20261122231700_Listeners.ts';
import { Migration20261122233000_TestModes } from './Migration20261122233000_TestModes.ts';
import { Migration20261122233500_CompletionWebhooks } from './Migration20261122233500_CompletionWebhooks.ts';
import { Migration20261122234500_QueueTimeouts } from './Migration20261122234500_QueueTimeouts.ts';
import { Migration20261122235100_CronTicks } from './Migration20261122235100_CronTicks.ts';
import { Migration20261122235200_CronBackfills } from './Migration20261122235200_CronBackfills.ts';
import { Migration20261122235700_StoredBytes } from './Migration20261122235700_StoredBytes.ts';
import { Migration20261122235800_EventProcessing } from './Migration20261122235800_EventProcessing.ts';
import { Migration20261123020700_EventTurns } from './Migration20261123020700_EventTurns.ts';
import { Migration20261123021500_RunRetention } from './Migration20261123021500_RunRetention.ts';
import { Migration20261123023000_GrantedRuns } from './Migration20261123023000_GrantedRuns.ts';
import { Migration20261123023300_ListenerOwners } from './Migration20261123023300_ListenerOwners.ts';
import { Migration20261123023900_ListenerBreakers } from './Migration20261123023900_ListenerBreakers.ts';
import { Migration20261123024500_Differences } from './Migration20261123024500_Differences.ts';
import { Migration20261123030300_ListenerTests } from './Migration20261123030300_ListenerTests.ts';
import { Migration20261123031500_BriefEvents } from './Migration20261123031500_BriefEvents.ts';
import { Migration20261123032000_Folders } from './Migration20261123032000_Folders.ts';
import { Migration20261123053000_Pages } from './Migration20261123053000_Pages.ts';
import { Migration20261123053000_Widgets } from './Migration20261123053000_Widgets.ts';
import { Migration20261123060000_AuditTrail } from './Migration20261123060000_AuditTrail.ts';
import { Migration20261123060500_FileStores } from './Migration20261123060500_FileStores.ts';
import { Migration20261123060500_HeldLengths } from './Migration20261123060500_HeldLengths.ts';
import { Migration20261123061000_AssetChanges } from './Migration20261123061000_AssetChanges.ts';
import { Migration20261123062000_Notifications } from './Migration20261123062000_Notifications.ts';
import { Migration20261123063000_WidgetVersions } from './Migration20261123063000_WidgetVersions.ts';
import { Migration20261123064500_WidgetLibrary } from './Migration20261123064500_WidgetLibrary.ts';
import { Migration20261123070500_Bundles } from './Migration20261123070500_Bundles.ts';
import { Migration20261123071500_ListenerResidues } from './Migration20261123071500_ListenerResidues.ts';
import { Migration20261123083000_AI } from './Migration20261123083000_AI.ts';
import { Migration20261123092000_AIChat } from './Migration20261123092000_AIChat.ts';
import { Migration20261123154500_ImportJobs } from './Migration20261123154500_ImportJobs.ts';
import { Migration20261123184000_AIToolCalls } from './Migration20261123184000_AIToolCalls.ts';
import { Migration20261123191000_RollbackJobs } from './Migration20261123191000_RollbackJobs.ts';
import { Migration20261123213000_ToolApprovals } from './Migration20261123213000_ToolApprovals.ts';
import { Migration20261125160000_OAuthRevocations } from './Migration20261125160000_OAuthRevocations.ts';
import { Migration20261126160000_RetiredSeals } from './Migration20261126160000_RetiredSeals.ts';
import { Migration20261126181500_FailedItems } from './Migration20261126181500_FailedItems.ts';
import { Migration20261126193000_UnwantedCalls } from './Migration20261126193000_UnwantedCalls.ts';
import { Migration20261126205500_EndedItems } from './Migration20261126205500_EndedItems.ts';
import { Migration20261127041800_TurnsOfBatches } from './Migration20261127041800_TurnsOfBatches.ts';
import { Migration20261128071000_ClaimsOfDeadLetters } from './Migration20261128071000_ClaimsOfDeadLetters.ts';
import { Migration20261128072000_EndpointMethods } from './Migration20261128072000_EndpointMethods.ts';
import { Migration20261128100000_SecretKeys } from './Migration20261128100000_SecretKeys.ts';
import { Migration20261128140000_ListenerRefusals } from './Migration20261128140000_ListenerRefusals.ts';
import { Migration20261128210000_OfferedTools } from './Migration20261128210000_OfferedTools.ts';
import { Migration20261129090000_SignIn } from './Migration20261129090000_SignIn.ts';
import { Migration20261129094000_Restores } from './Migration20261129094000_Restores.ts';
import { Migration20261129100000_HomePages } from './Migration20261129100000_HomePages.ts';
import { Migration20261129104500_WrongCodes } from './Migration20261129104500_WrongCodes.ts';
import { Migration20261129130000_ConnectedApps } from './Migration20261129130000_ConnectedApps.ts';
import { Migration20261129140000_NotByStarter } from './Migration20261129140000_NotByStarter.ts';
import { migrationNames } from './names.ts';

/** Classes of exactly the named migrations. */
const classes = {
  Migration20261121000000_Foundation,
  Migration20261121120000_ApiKeys,
  Migration20261121130000_Operators,
  Migration20261121140000_Roles,
  Migration20261121150000_TenantSecrets,
  Migration20261121155000_People,
  Migration20261121160000_TenantDatabases,
  Migration20261121170000_Datasources,
  Migration20261121180000_TenantFiles,
  Migration20261121190000_ResultPages,
  Migration20261121200000_OAuthConnections,
  Migration20261122090000_HandBacks,
  Migration20261122091000_SweepLeader,
  Migration20261122104100_Suspects,
  Migration20261122105500_AwaitedRuns,
  Migration20261122105700_RunNotices,
  Migration20261122110000_SealedAnswers,
  Migration20261122110500_TenantServers,
  Migration20261122112000_Frames,
  Migration20261122112500_TenantConnections,
  Migration20261122113000_OneRowPerStep,
  Migration20261122114000_RetentionIndexes,
  Migration20261122115500_Checkpoints,
  Migration20261122120000_Quotas,
  Migration20261122120600_DatabaseMoves,
  Migration20261122120700_DatabaseSizes,
  Migration20261122133000_WorkflowVersions,
  Migration20261122140300_FrameKeys,
  Migration20261122140500_Variables,
  Migration20261122141300_OpenRuns,
  Migration20261122143000_RunFilters,
  Migration20261122171000_RunBatches,
  Migration20261122173000_Reruns,
  Migration20261122180000_Admission,
  Migration20261122181500_BatchJobs,
  Migration20261122183000_RequestWorkflows,
  Migration20261122183500_ForgottenRuns,
  Migration20261122194500_WorkflowEvents,
  Migration20261122195500_Pauses,
  Migration20261122202500_Maps,
  Migration20261122203700_Reminders,
  Migration20261122204500_RunLogs,
  Migration20261122205800_FailureHandlers,
  Migration20261122225500_CronJobs,
  Migration20261122231700_Listeners,
  Migration20261122233000_TestModes,
  Migration20261122233500_CompletionWebhooks,
  Migration20261122234500_QueueTimeouts,
  Migration20261122235100_CronTicks,
  Migration20261122235200_CronBackfills,
  Migration20261122235700_StoredBytes,
  Migration20261122235800_EventProcessing,
  Migration20261123020700_EventTurns,
  Migration20261123021500_RunRetention,
  Migration20261123023000_GrantedRuns,
  Migration20261123023300_ListenerOwners,
  Migration20261123023900_ListenerBreakers,
  Migration20261123024500_Differences,
  Migration20261123030300_ListenerTests,
  Migration20261123031500_BriefEvents,
  Migration20261123032000_Folders,
  Migration20261123053000_Pages,
  Migration20261123053000_Widgets,
  Migration20261123060000_AuditTrail,
  Migration20261123060500_FileStores,
  Migration20261123060500_HeldLengths,
  Migration20261123061000_AssetChanges,
  Migration20261123062000_Notifications,
  Migration20261123063000_WidgetVersions,
  Migration20261123064500_WidgetLibrary,
  Migration20261123070500_Bundles,
  Migration20261123071500_ListenerResidues,
  Migration20261123083000_AI,
  Migration20261123092000_AIChat,
  Migration20261123154500_ImportJobs,
  Migration20261123184000_AIToolCalls,
  Migration20261123191000_RollbackJobs,
  Migration20261123213000_ToolApprovals,
  Migration20261125160000_OAuthRevocations,
  Migration20261126160000_RetiredSeals,
  Migration20261126181500_FailedItems,
  Migration20261126193000_UnwantedCalls,
  Migration20261126205500_EndedItems,
  Migration20261127041800_TurnsOfBatches,
  Migration20261128071000_ClaimsOfDeadLetters,
  Migration20261128072000_EndpointMethods,
  Migration20261128100000_SecretKeys,
  Migration20261128140000_ListenerRefusals,
  Migration20261128210000_OfferedTools,
  Migration20261129090000_SignIn,
  Migration20261129094000_Restores,
  Migration20261129100000_HomePages,
  Migration20261129104500_WrongCodes,
  Migration20261129130000_ConnectedApps,
  Migration20261129140000_NotByStarter,
} satisfies Record<(typeof migrationNames)[number], typeof Migration>;

export const migrations = migrationNames.map((name) => ({ name, class: classes[name] }));
