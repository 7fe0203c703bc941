-- Health of TrafficMonitor, ClusterTrafficPolicy and MinterDeployment for Argo CD. Recent versions need none of it:
-- they read Ready, Reconciling and Stalled by themselves. In argocd-cm:
--   resource.customizations.health.svc.dev_TrafficMonitor: |
--     <this file>
local health = { status = "Progressing", message = "has no status yet" }
if obj.status == nil then
  return health
end
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "the newest generation is not observed yet"
  return health
end
if obj.status.conditions == nil then
  return health
end
local found = {}
for _, condition in ipairs(obj.status.conditions) do
  found[condition.type] = condition
end
local function say(status, condition)
  return { status = status, message = condition.reason .. ": " .. (condition.message or "") }
end
if found.Stalled ~= nil and found.Stalled.status == "True" then
  return say("Degraded", found.Stalled)
end
if found.Reconciling ~= nil and found.Reconciling.status == "True" then
  return say("Progressing", found.Reconciling)
end
if found.Ready == nil then
  return health
end
if obj.spec ~= nil and obj.spec.suspend then
  return say("Suspended", found.Ready)
end
if found.Ready.status == "True" then
  return say("Healthy", found.Ready)
end
return say("Progressing", found.Ready)
