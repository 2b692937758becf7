// SPDX-License-Identifier: Apache-2.0
// What is refused, where exactly it is shown and what is said: one line a mistake.
#include <gtest/gtest.h>

#include "spec/parse.h"

namespace stoker {
namespace {

struct Bad {
  const char* text;
  const char* place;    // line:column of the first error
  const char* message;  // a part of the whole line
};

// Every text is a whole file: the mistake is the only one, so a parser that misses it accepts.
const Bad kBad[] = {
    // not a text, not YAML
    {"", "1:1", "the job file is empty. At least 'run' is needed"},
    {"# only a comment\n", "1:1", "the job file is empty"},
    {"run: x\n\tsetup: y", "2:1", "a tab in the indentation. Indent with spaces"},
    {"resources:\n\tinfra: local\nrun: x", "2:1", "a tab in the indentation"},
    {"run: x\xff", "1:7", "not UTF-8"},
    {"name: \xc3\xa9\xed\xa0\x80\nrun: x", "1:8", "not UTF-8"},
    {"run: \x1b[31m", "1:6", "a control character. In double quotes, write \\x1b"},
    {"run: x\rsetup: y", "1:7", "a carriage return"},
    {"run: \"a\\0b\"", "1:6", "a NUL character in a value"},
    {"run: 'python train.py", "1:6", "a quote that is not closed"},
    {"envs: {A: \"x}\nrun: x\n", "1:11", "a quote that is not closed"},
    {"run: x\noutputs: [a, b", "2:10", "a '[' that is not closed"},
    {"run: x\nlimits: {stall: 5m", "2:9", "a '{' that is not closed"},
    {"run: x\noutputs: ]", "2:10", "a closing bracket without an opening one"},
    {"run: echo: x", "1:10", "a ':' where no value can begin at ': x'"},
    {"run: x\n setup: y", "2:7", "a ':' where no value can begin"},
    {"run: @x", "1:6", "a character that cannot begin a value"},
    {"run: *x", "1:6", "an alias to an anchor that does not exist"},
    {"run: \"\\q\"", "1:9", "unknown escape character"},
    {"run: \"a\\_b\"", "1:6", "an escape that is not supported"},
    {"name: x\nrun", "2:1", "'run' is no 'key: value'"},
    {"run: x\nhyperparameters:\n  lr: 1\n  epochs\n", "4:3", "'epochs' is no 'key: value'"},
    {"python train.py", "1:1", "a job file is a map of keys, not 'python train.py'"},
    {"- run: x", "1:1", "a job file is a map of keys, not a list"},
    {"name: a\n---\nrun: x", "3:1", "a second document: pipelines and job groups are understood"},
    {"  run: x\nname: y", "2:1", "text after the end of the document"},
    {"run: !!python/object x", "1:6", "the tag"},
    {"run: ! x", "1:6", "the tag '!'"},
    {"%FOO\n---\nrun: x", "1:1", "the directive '%FOO'. Remove it"},
    {"run: x\nrun: y", "2:1", "the key 'run' comes twice. Keep one of them"},
    {"run: x\nenvs: {A: 1, A: 2}", "2:14", "the key 'A' comes twice"},
    {"run: x\n? [a]\n: b", "2:3", "a '[' that is not closed, or is a key"},
    {"run: x\nenvs: {<<: {A: b}}", "2:8", "the merge key '<<'"},
    {"<<: {run: x}", "1:1", "the merge key '<<'. Write the keys out"},
    {"run: x\nsetup: {cache: [a]}", "2:8", "'setup' has no 'run' with anything to run"},
    {"run: x\nsetup: {run: '# x', cache: []}", "2:8", "'setup' has no 'run'"},
    {"run: x\nsetup: {run: y, cache: a}", "2:24", "'setup.cache' must be a list"},
    {"run: x\nsetup: {run: y, cache: [/a]}", "2:25", "'setup.cache' must lie in the work"},
    {"run: x\nsetup: {run: y, cache: [a, ./a]}", "2:28", "'setup.cache' names 'a' twice"},
    {"run: x\nsetup: {run: y, cahce: [a]}", "2:17", "'cahce'"},
    {"run: x\noutputs: [a, , b]", "2:14", "an empty list item"},
    {"hyperparameters: {a: &x [*x]}\nrun: x", "1:26", "an alias inside its own anchor"},
    // keys
    {"epohcs: 3\nrun: x", "1:1", "unknown key 'epohcs'"},
    {"rnu: x", "1:1", "unknown key 'rnu'. Did you mean 'run'?"},
    {"Run: x", "1:1", "Did you mean 'run'?"},
    {"num-nodes: 2\nrun: x", "1:1", "unknown key 'num-nodes'. Did you mean 'num_nodes'?"},
    {"use_spot: true\nrun: x", "1:1", "It belongs under 'resources'"},
    {"accelerators: H100\nrun: x", "1:1", "It belongs under 'resources'"},
    {"max_duration: 1h\nrun: x", "1:1", "It belongs under 'limits'"},
    {"limits: {run: x}\nrun: x", "1:10", "It belongs at the top level"},
    {"limits: {stal: 5m}\nrun: x", "1:10", "unknown key 'stal' in 'limits'. Did you mean 'stall'?"},
    {"checkpoints:\n  pth: a\nrun: x", "2:3", "in 'checkpoints'. Did you mean 'path'?"},
    {"config: {stoker: {endings: cgroup}}\nrun: x", "1:19", "Did you mean 'ending'?"},
    {"config: {wandb: 1}\nrun: x", "1:10", "unknown key 'wandb' in 'config'"},
    {"job_recovery: {max_restart: 1}\nrun: x", "1:16", "unknown key 'max_restart'"},
    // understood but not built yet
    {"file_mounts: {/a: ./b}\nrun: x", "1:1", "'file_mounts' is understood but not built yet"},
    {"secrets: {A: b}\nrun: x", "1:11", "'A' has its value in the file. Take it out and write"},
    {"secrets: [hf-x]\nrun: x", "1:11", "a secret's name is letters, digits and '_'"},
    {"secrets: A\nrun: x", "1:10", "'secrets' must be a list"},
    {"secrets: [A]\nenvs: {A: b}\nrun: x", "1:10", "'A' is both a variable and a secret"},
    {"secrets: [STOKER_X]\nrun: x", "1:11", "is set by stoker itself"},
    {"envs: {HF_TOKEN: }\nrun: x", "1:8", "Give it with --secret HF_TOKEN"},
    {"container: {image: x, user: -1}\nrun: x", "1:29", "Write it as 1000"},
    {"container: {image: x, entrypoint: a b}\nrun: x", "1:35", "Write a list"},
    {"container: {image: x, entrypoint: []}\nrun: x", "1:35", "names no program"},
    {"container: {image: x, login: {user: a, password: b}}\nrun: x", "1:50", "is in the file"},
    {"container: {image: x, login: {user: a}}\nrun: x", "1:30", "needs 'user' and 'password'"},
    {"container: {dockerfile: /x}\nrun: x", "1:25", "no path in the work directory"},
    {"container: {dockerfile: x, image: y}\nrun: x", "1:12", "Keep one of them"},
    {"container: {engine: podman}\nrun: x", "1:12", "'container' names no image"},
    {"container: '-v /:/x'\nrun: x", "1:12", "is not the name of an image"},
    {"container: {image: x, engine: lxc}\nrun: x", "1:31", "apptainer"},
    {"container: {image: x, engine: apptainer, shm_size: 1GiB}\nrun: x", "1:12",
     "no size of its own"},
    {"container: {image: x, run_options: --pid=host}\nrun: x", "1:36", "stoker ends all processes"},
    {"container: {image: x, run_options: [--rm, y]}\nrun: x", "1:36",
     "begins and ends with the job"},
    {"container: {image: x, run_options: '--x=\"a b\"'}\nrun: x", "1:36", "without quotes"},
    {"container: {image: x, volumes: [a:/b]}\nrun: x", "1:33", "Write it as /data:/data"},
    {"container: {image: x, volumes: ['~/a:/b']}\nrun: x", "1:33", "absolute paths"},
    {"container: {image: x, shm_size: 1GiB, run_options: --ipc=host}\nrun: x", "1:12",
     "no /dev/shm of its own"},
    {"container: {image: x, shm_size: 1GiB, run_options: --shm-size=1g}\nrun: x", "1:12",
     "Keep one of them"},
    {"container: {image: x, run_options: --ipc=none --shm-size=1g}\nrun: x", "1:12",
     "no /dev/shm of its own"},
    {"container: {image: x, run_options: -dit}\nrun: x", "1:36", "attempt"},
    {"container: {image: x, cap_add: [sys admin]}\nrun: x", "1:33", "Write it as SYS_ADMIN"},
    {"container: {image: x, shm_size: much}\nrun: x", "1:33", "Write 8GiB"},
    {"container: x\nshell_env: all\nrun: x", "2:12", "its variables are the image's"},
    {"metrics: loss\nrun: x", "1:10", "'metrics' must be a list"},
    {"metrics: [{name: a, regex: 'x(?=y)'}]\nrun: x", "1:28", "is not one that RE2 knows"},
    {"metrics: [{name: a, regex: 'loss'}]\nrun: x", "1:28", "has no group"},
    {"metrics: [{name: a}]\nrun: x", "1:11", "needs a name and a regex"},
    {"tensorboard: ../logs\nrun: x", "1:14", "'tensorboard'"},
    {"stop_when: loss\nrun: x", "1:12", "'stop_when' must be a list"},
    {"stop_when: [loss is nan]\nrun: x", "1:21", "'not finite', 'above' or 'below' is exp"},
    {"stop_when:\n  - loss is above\nrun: x", "2:18", "is expected after 'above', not the end"},
    {"stop_when: ['loss is nan']\nrun: x", "1:13", "(column 9 of the rule)"},
    {"stop_when: [{action: warn}]\nrun: x", "1:13", "a rule that stops needs 'rule'"},
    {"stop_when: [{rule: a explodes, action: stp}]\nrun: x", "1:40", "'stop_when.action'"},
    {"stop_when: [a explodes, a explodes]\nrun: x", "1:25", "the rule 'a explodes' comes twice"},
    {"service: {}\nrun: x", "1:1", "'service' is understood but not built yet"},
    {"contract: sagemaker\nrun: x", "1:11", "'contract: sagemaker' is understood but not built"},
    {"workdir: {url: x, ref: y}\nrun: x", "1:10", "is not the URL of a git repository"},
    {"workdir: {ref: y}\nrun: x", "1:10", "names no repository"},
    {"workdir: {url: 'ext::sh -c x'}\nrun: x", "1:10", "is not the URL of a git repository"},
    {"workdir: {url: --upload-pack=x}\nrun: x", "1:10", "is not the URL of a git repository"},
    {"workdir: {url: https://a/b, ref: --x}\nrun: x", "1:10", "is not a branch, a tag or a commit"},
    {"workdir: {url: https://a/b, ref: a..b}\nrun: x", "1:10",
     "is not a branch, a tag or a commit"},
    {"workdir: https://t0ken@a/b\nrun: x", "1:10", "has a user or a password in it"},
    {"workdir: ssh://u:p@a/b\nrun: x", "1:10", "has a user or a password in it"},
    {"workdir: {url: https://a/b, commit: c}\nrun: x", "1:29", "commit"},
    {"workdir: gs://a/b\nrun: x", "1:10", "a bucket as 'workdir' is understood"},
    {"resources: {infra: azure/us-east1}\nrun: x", "1:20", "'resources.infra: azure/us-east1' is"},
    {"resources: {cloud: oci}\nrun: x", "1:20", "'resources.cloud: oci' is understood but not"},
    {"resources: {accelerators: {H100: 8, L4: x}}\nrun: x", "1:37", "does not say how many GPUs"},
    {"resources: {accelerators: [H100, 3]}\nrun: x", "1:34", "does not say how many GPUs"},
    {"resources: {accelerators: 2}\nrun: x", "1:27", "does not say how many GPUs, or of which"},
    {"resources: {gpus: H100:0}\nrun: x", "1:19", "does not say how many GPUs, or of which"},
    {"resources: {gpus: [1, 1]}\nrun: x", "1:19", "does not say how many GPUs, or of which"},
    {"resources: {gpus: [-1]}\nrun: x", "1:19", "does not say how many GPUs, or of which"},
    {"resources: {gpus: a/b}\nrun: x", "1:19", "does not say how many GPUs, or of which"},
    {"resources: {gpus: 1, accelerators: L4}\nrun: x", "1:12", "has both 'accelerators' and"},
    {"resources: {cpus: many}\nrun: x", "1:19", "'resources.cpus' is not a number of CPUs"},
    {"resources: {cpus: 0}\nrun: x", "1:19", "'resources.cpus' is not a number of CPUs"},
    {"resources: {cpus: 0.1234}\nrun: x", "1:19", "'resources.cpus' is not a number of CPUs"},
    {"resources: {memory: lots}\nrun: x", "1:21", "'resources.memory' is not a size"},
    {"resources: {memory: 9999999TB}\nrun: x", "1:21", "'resources.memory' is not a size"},
    {"resources: {priority: 1001}\nrun: x", "1:23", "'resources.priority'"},
    {"resources: {priority_class: a}\nrun: x", "1:13", "'resources.priority_class' is underst"},
    {"resources: {any_of: []}\nrun: x", "1:21", "'resources.any_of' has no choices"},
    {"limits: {max_cost: 20}\nrun: x", "1:10", "'limits.max_cost' is understood but not built"},
    {"limits: {deadline: 1h}\nrun: x", "1:10", "'limits.deadline' is understood but not built"},
    {"limits: {idle_gpu: {}}\nrun: x", "1:20", "'limits.idle_gpu' does not say for how long"},
    {"limits: {idle_gpu: {below: 0%, for: 1m}}\nrun: x", "1:28", "a percentage from 1% to 100%"},
    {"limits: {idle_gpu: {below: 5.5, for: 1m}}\nrun: x", "1:28", "a percentage from 1% to 100%"},
    {"limits: {idle_gpu: {below: [5], for: 1m}}\nrun: x", "1:28", "a percentage from 1% to 100%"},
    {"limits: {idle_gpu: 5%}\nrun: x", "1:20", "'limits.idle_gpu' is not a duration: '5%'"},
    {"limits: {idle_gpu: {for: 0s}}\nrun: x", "1:26", "'0s', which is out of range"},
    {"checkpoints: {every: 10m}\nrun: x", "1:22", "with an interval is understood but not built"},
    {"config: {hooks: []}\nrun: x", "1:10", "'config.hooks' is understood but not built yet"},
    {"inputs: {a: {source: /a, mode: stream}}\nrun: x", "1:32",
     "'inputs.a.mode: stream' is understood but not built yet. Write file: the data are copied"},
    {"inputs: {a: {source: /a, mode: pipe}}\nrun: x", "1:32", "'inputs.a.mode: pipe' is underst"},
    {"inputs: {a: {source: /a, exclude: [x]}}\nrun: x", "1:26", "'inputs.a.exclude' is understoo"},
    // inputs
    {"input: {a: /a}\nrun: x", "1:1", "unknown key 'input'. Did you mean 'inputs'?"},
    {"limits: {inputs: {a: /a}}\nrun: x", "1:10", "It belongs at the top level"},
    {"inputs: [a]\nrun: x", "1:9", "'inputs' must be a map, not a list"},
    {"inputs: {a: [b]}\nrun: x", "1:13", "'inputs.a' must be text, not a list"},
    {"inputs:\n  a:\nrun: x", "2:3", "'inputs.a' has no value. Give it one, or remove the key"},
    {"inputs: {a: ''}\nrun: x", "1:13", "'inputs.a' is empty"},
    {"inputs: {a: {source: }}\nrun: x", "1:14", "'inputs.a.source' has no value"},
    {"inputs: {a: {mode: file}}\nrun: x", "1:13", "'inputs.a' has no source"},
    {"inputs: {a: {sorce: /a}}\nrun: x", "1:14", "Did you mean 'source'?"},
    {"inputs: {a: {source: /a, mode: fiel}}\nrun: x", "1:32", "Did you mean 'file'?"},
    {"inputs: {a: {source: /a, mode: [file]}}\nrun: x", "1:32", "'inputs.a.mode' cannot be"},
    {"inputs: {a.b: /a}\nrun: x", "1:10", "'a.b' is not a name for an input. Use 1 to 64 of"},
    {"inputs: {../a: /a}\nrun: x", "1:10", "is not a name for an input"},
    {"inputs: {_a: /a}\nrun: x", "1:10", "is not a name for an input"},
    {"inputs: {a b: /a}\nrun: x", "1:10", "is not a name for an input"},
    {"inputs:\n  val-1: /a\n  VAL_1: /b\nrun: x", "3:3",
     "the inputs 'val-1' and 'VAL_1' have one variable, STOKER_CHANNEL_VAL_1. Rename"},
    {"inputs: {a: s3:///x}\nrun: x", "1:13", "'inputs.a' names no bucket: 's3:///x'. Write s3://"},
    {"inputs: {a: gs://}\nrun: x", "1:13", "'inputs.a' names no bucket"},
    {"inputs: {a: s3://my bucket/x}\nrun: x", "1:13", "'inputs.a' names no bucket"},
    {"inputs: {a: https://a/b}\nrun: x", "1:13", "'inputs.a' cannot be 'https://a/b'. Name a"},
    {"inputs: {a: file://a/b}\nrun: x", "1:13", "'inputs.a' names no path: 'file://a/b'"},
    {"inputs: {a: /}\nrun: x", "1:13", "'inputs.a' is the whole file system"},
    {"inputs: {a: ~bob/x}\nrun: x", "1:13", "that home is not known"},
    {"inputs: {a: \"a\\nb\"}\nrun: x", "1:13", "holds a line break"},
    {"inputs: {a: s3://AKIAIOSFODNN7EXAMPL1/x}\nrun: x", "1:13", "holds what looks like an AWS"},
    // wrong types
    {"run: [a, b]", "1:6", "'run' must be text, not a list"},
    {"run:\n  a: b", "2:3", "'run' must be text, not a map"},
    {"name: {a: b}\nrun: x", "1:7", "'name' must be text, not a map"},
    {"num_nodes: two\nrun: x", "1:12", "must be a whole number, not 'two'"},
    {"num_nodes: 2.0\nrun: x", "1:12", "must be a whole number, not '2.0'"},
    {"num_nodes: '2'\nrun: x", "1:12", "not '2'. Remove the quotes"},
    {"num_nodes: [2]\nrun: x", "1:12", "must be a whole number, not a list"},
    {"num_nodes:\nrun: x", "1:1", "'num_nodes' has no value. Give it one, or remove the key"},
    {"run: ~", "1:1", "'run' has no value"},
    {"setup: null\nrun: x", "1:1", "'setup' has no value"},
    {"resources: local\nrun: x", "1:12", "'resources' must be a map, not 'local'"},
    {"resources: {use_spot: maybe}\nrun: x", "1:23", "must be true or false, not 'maybe'"},
    {"resources: {use_spot: 'true'}\nrun: x", "1:23", "must be true or false"},
    {"resources: {labels: [a]}\nrun: x", "1:21", "'resources.labels' must be a map"},
    {"envs: [A=1]\nrun: x", "1:7", "'envs' must be a map, not a list"},
    {"envs: {A: [1]}\nrun: x", "1:11", "'envs.A' must be text, not a list"},
    {"hyperparameters: [1]\nrun: x", "1:18", "'hyperparameters' must be a map"},
    {"outputs: ''\nrun: x", "1:10", "'outputs' must be a list, not ''. Write [output]"},
    {"outputs: {a: 10GB}\nrun: x", "1:10", "SkyPilot's size estimate is not used here"},
    {"outputs: [{a: b}]\nrun: x", "1:11", "'outputs' must be text, not a map"},
    {"command: python train.py", "1:10", "'command' must be a list"},
    {"command: [python, {a: b}]", "1:19", "'command' must be text, not a map"},
    {"hooks: ./tell\nrun: x", "1:8", "'hooks' must be a map, not './tell'"},
    {"hooks: {on_notic: a}\nrun: x", "1:9", "Did you mean 'on_notice'?"},
    {"hooks: {on_end: {limit: 5s}}\nrun: x", "1:17", "'hooks.on_end' has no 'run'"},
    {"hooks: {on_end: ''}\nrun: x", "1:17", "'hooks.on_end' is empty"},
    {"hooks: {on_end: {run: a, limit: 1h}}\nrun: x", "1:33", "'1h', which is out of range"},
    {"on_end: a\nrun: x", "1:1", "It belongs under 'hooks'"},
    {"logs: cloud\nrun: x", "1:7", "'logs' must be a map, not 'cloud'"},
    {"logs: {cloud: true, retention: 36h}\nrun: x", "1:32", "is no number of days"},
    {"logs: {cloud: true, retention: 1h}\nrun: x", "1:32", "out of range"},
    {"logs: {retention: 30d}\nrun: x", "1:19", "of a cloud's own log, which is not asked for"},
    {"notify: a\nrun: x", "1:9", "'notify' must be a list"},
    {"notify: {}\nrun: x", "1:9", "does not say whom"},
    {"notify: {webhook: tell me}\nrun: x", "1:19", "'notify.webhook' cannot be 'tell me'"},
    {"notify: {slack: https://hooks.slack.com/services/T0/B0/x}\nrun: x", "1:17", "Write $NAME"},
    {"notify: {ntfy: https://n/t, webhook: https://n/t}\nrun: x", "1:38", "an entry for each"},
    {"notify: {command: ./tell}\nrun: x", "1:19", "run on the node by 'hooks'"},
    {"notify: {webhook: https://me:pw@host/x}\nrun: x", "1:19", "an address without one"},
    {"notify: {sns: my-topic}\nrun: x", "1:15", "Write arn:aws:sns:us-east-1:123456789012:my-"},
    {"notify: {sns: $TOPIC}\nrun: x", "1:15", "'notify.sns' cannot be '$TOPIC'"},
    {"notify: {pubsub: projects/p/topics}\nrun: x", "1:18", "Write projects/my-project/topics/"},
    {"notify: {ntfy: https://n/t, on: [ends]}\nrun: x", "1:34", "Did you mean 'end'?"},
    {"notify: {ntfy: https://n/t, no_machine: 5s}\nrun: x", "1:41", "out of range"},
    {"limits: 8h\nrun: x", "1:9", "'limits' must be a map, not '8h'"},
    {"limits: {stall: [5m]}\nrun: x", "1:17", "'limits.stall' must be a duration, not a list"},
    {"checkpoints: ckpt\nrun: x", "1:14", "'checkpoints' must be a map, not 'ckpt'"},
    {"config: {stoker: cgroup}\nrun: x", "1:18", "'config.stoker' must be a map"},
    {"job_recovery: {recover_on_exit_codes: {a: b}}\nrun: x", "1:39", "must be a list, not a map"},
    // wrong values
    {"num_nodes: 0\nrun: x", "1:12", "'num_nodes' is 0, which is out of range"},
    {"num_nodes: -1\nrun: x", "1:12", "'num_nodes' is -1, which is out of range"},
    {"num_nodes: 1025\nrun: x", "1:12", "Between 1 and 1024 is possible"},
    {"num_nodes: 99999999999999999999\nrun: x", "1:12", "must be a whole number"},
    {"name: a b\nrun: x", "1:7", "the name 'a b' is not usable as a path or a tag"},
    {"name: ../../etc\nrun: x", "1:7", "digit first: 'etc'"},
    {"name: ''\nrun: x", "1:7", "the name '' is not usable"},
    {"name: -x\nrun: x", "1:7", "the name '-x' is not usable"},
    {"run: ''", "1:6", "'run' is empty. Write the commands that train"},
    {"run: |\n  # nothing\n\n", "1:6", "'run' is empty"},
    {"name: x\nsetup: pip list", "1:1", "there is nothing to run"},
    {"command: []", "1:10", "the command is empty"},
    {"command: ['', a]", "1:10", "the command is empty"},
    {"run: x\ncommand: [x]", "2:10", "both 'run' and 'command'"},
    {"limits: {max_duration: 30}\nrun: x", "1:24", "'30'. Give it a unit: 30s, 30m or 30h"},
    {"limits: {max_duration: 5 minutes}\nrun: x", "1:24", "is not a duration: '5 minutes'"},
    {"limits: {stall: -5m}\nrun: x", "1:17", "is not a duration: '-5m'"},
    {"limits: {stall: 0s}\nrun: x", "1:17", "'0s', which is out of range"},
    {"limits: {stall: 99999999d}\nrun: x", "1:17", "is not a duration"},
    {"keep_failed: 2d\nrun: x", "1:14", "'2d', which is out of range. Between 1m and 1d"},
    {"stop_grace: 2d\nrun: x", "1:13", "'2d', which is out of range. Between 0s and 1d"},
    {"checkpoints: {quiet: 1ms}\nrun: x", "1:22", "Between 100ms and 1h is possible"},
    {"checkpoints: {keep: -1}\nrun: x", "1:21", "'checkpoints.keep' is -1, which is out of range"},
    {"checkpoints: {complete: a/done}\nrun: x", "1:25",
     "'checkpoints.complete' is 'a/done', which"},
    {"checkpoints: {signal: USR3}\nrun: x", "1:23", "'checkpoints.signal' cannot be 'USR3'"},
    {"checkpoints: {signal: SIGKILL}\nrun: x", "1:23", "cannot be 'SIGKILL'"},
    {"checkpoints: {every: often}\nrun: x", "1:22", "cannot be 'often'. Possible: auto"},
    {"checkpoints: {path: ../x}\nrun: x", "1:21", "leaves its place: '../x'"},
    {"checkpoints: {path: .}\nrun: x", "1:21", "is the whole work directory"},
    {"checkpoints: {path: /}\nrun: x", "1:21", "leaves its place"},
    {"checkpoints: {path: /a/../b}\nrun: x", "1:21", "leaves its place"},
    {"checkpoints: {path: /proc/x}\nrun: x", "1:21", "lies in /proc"},
    {"checkpoints: {path: ~/x}\nrun: x", "1:21", "is taken as written"},
    {"checkpoints: {path: 's3://b/c'}\nrun: x", "1:21", "cannot be a URL"},
    {"workdir: /w\ncheckpoints: {path: /w}\nrun: x", "2:14", "holds the work directory"},
    {"outputs: [{required: true}]\nrun: x", "1:11",
     "a map without a path. Write model.pt, or {path"},
    {"outputs: [{path: a, requird: true}]\nrun: x", "1:21", "Did you mean 'required'?"},
    {"outputs: [{path: a, required: 3}]\nrun: x", "1:31", "must be true or false, not '3'"},
    {"outputs: [{path: ../a}]\nrun: x", "1:18", "leaves its place: '../a'"},
    {"outputs: ['*.pt', '*.pt']\nrun: x", "1:19", "output '*.pt' comes twice"},
    {"outputs: ['../*.pt']\nrun: x", "1:11", "leaves its place: '../*.pt'"},
    {"limits: {kept_size: lots}\nrun: x", "1:21", "'limits.kept_size' is not a size: 'lots'"},
    {"limits: {kept_files: -1}\nrun: x", "1:22", "out of range"},
    {"outputs: [/abs]\nrun: x", "1:11", "must lie in the work directory, but is absolute: '/abs'"},
    {"outputs: [a/../../b]\nrun: x", "1:11", "leaves its place: 'a/../../b'"},
    {"outputs: [$HOME/x]\nrun: x", "1:11", "is taken as written, so '~' and '$' are refused"},
    {"outputs: [a, a/]\nrun: x", "1:14", "output 'a' comes twice"},
    {"outputs: [a, a/b]\nrun: x", "1:14", "outputs 'a' and 'a/b' overlap"},
    {"outputs: [\"a\\nb\"]\nrun: x", "1:11", "holds a line break or another control character"},
    {"outputs: [checkpoints]\nrun: x", "1:10", "and the checkpoints in 'checkpoints' overlap"},
    {"outputs: [o]\ncheckpoints: {path: o/c}\nrun: x", "1:10", "overlap"},
    {"workdir: ''\nrun: x", "1:10", "'workdir' is empty"},
    {"workdir: /\nrun: x", "1:10", "is the whole file system"},
    {"workdir: ~bob/x\nrun: x", "1:10", "that home is not known"},
    {"resources: {infra: locl}\nrun: x", "1:20", "cannot be 'locl'. Did you mean 'local'?"},
    {"resources: {infra: local/a}\nrun: x", "1:20", "local has no regions"},
    {"resources: {infra: local, cloud: local}\nrun: x", "1:34", "has both 'infra' and 'cloud'"},
    {"resources: {labels: {'a b': c}}\nrun: x", "1:22", "label 'a b' is not usable as a tag"},
    {"resources: {labels: {stoker-job: c}}\nrun: x", "1:22", "marks stoker's own tags"},
    {"job_recovery: FAILOVR\nrun: x", "1:15", "Did you mean 'FAILOVER'?"},
    {"job_recovery: {max_restarts_on_errors: -1}\nrun: x", "1:40", "is -1, which is out of range"},
    {"job_recovery: {recover_on_exit_codes: [1, 256]}\nrun: x", "1:43", "is 256, which is out of"},
    {"on_stop: restarts\nrun: x", "1:10",
     "'on_stop' cannot be 'restarts'. Did you mean 'restart'?"},
    {"recovery: nodes\nrun: x", "1:11", "'recovery' cannot be 'nodes'. Did you mean 'node'?"},
    {"config: {stoker: {ending: docker}}\nrun: x", "1:27", "Possible: pidns, cgroup, subreaper"},
    {"contract: k8s\nrun: x", "1:11", "'contract' cannot be 'k8s'"},
    // envs and hyperparameters
    {"envs: {1A: x}\nrun: x", "1:8", "'1A' is not a name for a variable"},
    {"envs: {A-B: x}\nrun: x", "1:8", "'A-B' is not a name for a variable"},
    {"envs: {'': x}\nrun: x", "1:8", "'' is not a name for a variable"},
    {"envs:\n  A:\nrun: x", "2:3", "the variable 'A' has no value. Give it with --env A=VALUE"},
    {"envs: {STOKER_JOB_ID: x}\nrun: x", "1:8", "'STOKER_JOB_ID' is set by stoker itself"},
    {"envs: {AWS_SECRET_ACCESS_KEY: x}\nrun: x", "1:8", "looks like a secret, by its name"},
    {"envs: {HF_TOKEN: x}\nrun: x", "1:8", "the variable 'HF_TOKEN' looks like a secret"},
    {"hyperparameters: {lr: .nan}\nrun: x", "1:23", "'.nan' has no form in JSON. Quote it"},
    {"hyperparameters: {lr: -.inf}\nrun: x", "1:23", "'-.inf' has no form in JSON"},
    {"hyperparameters: {lr: 1e999}\nrun: x", "1:23", "'1e999' is too large or too small"},
    {"hyperparameters: {a: [010]}\nrun: x", "1:23", "'010' has a leading zero"},
    {"hyperparameters: {'a b': 1}\nrun: x", "1:19", "is not a name for a hyperparameter"},
    {"hyperparameters: {--lr: 1}\nrun: x", "1:19", "is not a name for a hyperparameter"},
    {"hyperparameters: {a: {b: 1, b: 2}}\nrun: x", "1:29", "the key 'b' comes twice"},
    {"# é\nname: x # é\nenvs: {\"é\": é, B: é, C-: x}\nrun: x", "3:8", "is not a name for a var"},
};

TEST(BadInput, TableHasEverythingTheFormatPromises) { EXPECT_GE(std::size(kBad), 60u); }

TEST(BadInput, PlaceAndMessage) {
  for (const Bad& bad : kBad) {
    ParseOptions options;
    options.base_dir = "/w";
    const ParsedSpec parsed = ParseJobSpecAll(bad.text, options);
    ASSERT_FALSE(parsed.errors.empty()) << "accepted: " << bad.text;
    const std::string line = parsed.errors[0].ToString();
    const std::string start = "job.yaml:" + std::string(bad.place) + ": ";
    EXPECT_EQ(line.substr(0, start.size()), start) << bad.text << "\n" << line;
    EXPECT_NE(line.find(bad.message), std::string::npos) << bad.text << "\n" << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(ParseJobSpec(bad.text, options).code(), Code::kInvalid) << bad.text;
  }
}

// The same table has no case that fails for two reasons: without the mistake the rest is fine.
TEST(BadInput, OneMistakeOneError) {
  for (const Bad& bad : kBad) {
    ParseOptions options;
    options.base_dir = "/w";
    const auto errors = ParseJobSpecAll(bad.text, options).errors;
    const bool several = std::string(bad.message).find("is not a name for a var") == 0 ||
                         std::string(bad.place) == "3:8";
    if (several) continue;
    EXPECT_EQ(errors.size(), 1u) << bad.text << "\n" << errors.back().ToString();
  }
}

TEST(BadInput, FlagsNameTheFlag) {
  const auto message = [](auto set) {
    ParseOptions options;
    options.base_dir = "/w";
    set(&options.overrides);
    const auto spec = ParseJobSpec("run: x", options);
    EXPECT_EQ(spec.code(), Code::kUsage);
    return spec.ok() ? "" : spec.status().message();
  };
  using O = SpecOverrides;
  EXPECT_EQ(message([](O* o) { o->num_nodes = "0"; }).find("--num-nodes: 'num_nodes' is 0"), 0u);
  EXPECT_EQ(message([](O* o) { o->name = "a/b"; }).find("--name: the name 'a/b' is not"), 0u);
  EXPECT_EQ(message([](O* o) { o->infra = "oci"; }).find("--infra: 'resources.infra: oci' is u"),
            0u);
  EXPECT_EQ(message([](O* o) { o->envs = {"=x"}; }).find("--env: '' is not a name"), 0u);
  EXPECT_EQ(message([](O* o) { o->envs = {"A=\xff"}; }).find("command line: the value of"), 0u);
  EXPECT_EQ(message([](O* o) { o->envs = {"API_KEY=1"}; }).find("--env: the variable"), 0u);
  EXPECT_EQ(message([](O* o) { o->hyperparameters = {"lr"}; }).find("--hp: 'lr' gives no"), 0u);
  EXPECT_EQ(message([](O* o) { o->hyperparameters = {"a=[1"}; }).find("--hp: not YAML"), 0u);
  EXPECT_EQ(message([](O* o) { o->outputs = {"/x"}; }).find("--output: 'outputs' must lie"), 0u);
  EXPECT_EQ(message([](O* o) { o->checkpoints = ".."; }).find("--checkpoints: 'check"), 0u);
  EXPECT_EQ(message([](O* o) { o->keep = ""; }).find("--keep: 'checkpoints.keep' must"), 0u);
  EXPECT_EQ(message([](O* o) { o->max_duration = "9"; }).find("--max-duration: "), 0u);
  EXPECT_EQ(message([](O* o) { o->stall = "x"; }).find("--stall: "), 0u);
  EXPECT_EQ(message([](O* o) { o->recovery = "x"; }).find("--recovery: "), 0u);
  EXPECT_EQ(message([](O* o) { o->stop_grace = "x"; }).find("--stop-grace: "), 0u);
  EXPECT_EQ(message([](O* o) { o->max_restarts = "-1"; }).find("--max-restarts: "), 0u);
  EXPECT_EQ(message([](O* o) { o->ending = "x"; }).find("--ending: "), 0u);
  EXPECT_EQ(message([](O* o) { o->workdir = "~x"; }).find("--workdir: "), 0u);
}

TEST(BadInput, NulAndSize) {
  const std::string nul("run: a\0b", 8);
  EXPECT_EQ(ParseJobSpec(nul, {}).status().message(),
            "job.yaml:1:7: a NUL byte. A job file is text: is this the right file?");
  const std::string huge = "run: " + std::string(2 << 20, 'x');
  EXPECT_EQ(ParseJobSpec(huge, {}).status().message().find("job.yaml:1:1: the file has 2.1 MB"),
            0u);
  const std::string script = "run: " + std::string(200 << 10, 'x');
  EXPECT_NE(ParseJobSpec(script, {}).status().message().find("more than 100 KiB"),
            std::string::npos);
  const std::string env = "run: x\nenvs: {A: " + std::string(200 << 10, 'x') + "}";
  EXPECT_NE(ParseJobSpec(env, {}).status().message().find("no program starts"), std::string::npos);
}

// Each of these is small and would be gigabytes, or a deep recursion, when taken literally.
TEST(BadInput, BombsAreBounded) {
  std::string laughs = "hyperparameters:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i), p = "*a" + std::to_string(i - 1);
    laughs += "  a" + n + ": &a" + n + " [" + p;
    for (int k = 0; k < 9; ++k) laughs += ", " + p;
    laughs += "]\n";
  }
  std::string nested_anchors = "hyperparameters: {a: ";
  for (int i = 0; i < 50; ++i) nested_anchors += "&b" + std::to_string(i) + " [";
  for (int i = 0; i < 4'000; ++i) nested_anchors += "1,";
  nested_anchors += "1" + std::string(50, ']') + "}\n";
  const std::string deep_flow = "hyperparameters: {a: " + std::string(100'000, '[');
  const std::string deep_map = "hyperparameters: " + std::string(100'000, '{');
  std::string deep_block = "hyperparameters:\n";
  for (int i = 1; i < 600; ++i) deep_block += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  std::string questions;
  for (int i = 0; i < 100'000; ++i) questions += "? ";
  const std::string one_key = std::string(1'000'000, 'k') + ": x";
  std::string many_keys;
  for (int i = 0; i < 60'000; ++i) many_keys += "k" + std::to_string(i) + ": x\n";
  std::string many_outputs = "outputs:\n";
  for (int i = 0; i < 60'000; ++i) many_outputs += "- o" + std::to_string(i) + "\n";
  std::string one_line = "hyperparameters: [";
  for (int i = 0; i < 400'000; ++i) one_line += "1,";
  for (const std::string& text : {many_outputs, one_line, laughs, nested_anchors, deep_flow,
                                  deep_map, deep_block, dashes, questions, one_key, many_keys}) {
    const auto spec = ParseJobSpec(text + "\nrun: x", {});
    ASSERT_FALSE(spec.ok()) << text.substr(0, 60);
    EXPECT_LT(spec.status().message().size(), 20'000u);
  }
}

}  // namespace
}  // namespace stoker
