-- A database of schema version 5. Never edited: it stands for those that people have.
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (1, 'project/web', 1, 'project_registered', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:01.000000Z', NULL, '{"name":"web","root":"/src/web"}', '0000000000000000000000000000000000000000000000000000000000000000', '59c23e5b73f57d958984d16abb5ec3d829f7d946feffc859de8644b4b69b5d18');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (2, 'project/api', 1, 'project_registered', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:02.000000Z', NULL, '{"name":"api","root":"/src/api"}', '59c23e5b73f57d958984d16abb5ec3d829f7d946feffc859de8644b4b69b5d18', '3c6a560465e5803daf66a38eaf851f31f249cf4927bd3a3fe249e6f8c42f0019');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (3, 'project/docs', 1, 'project_registered', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:03.000000Z', NULL, '{"name":"docs","root":"/src/docs"}', '3c6a560465e5803daf66a38eaf851f31f249cf4927bd3a3fe249e6f8c42f0019', 'c7a64583eb284d10c588990ff6a3de84df447276839146e893c6d4bf88c4a4ea');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (4, 'brief/1', 1, 'brief_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:04.000000Z', 1, '{"number":1,"title":"Uploads that never fail","kind":"epic","projects":["web","docs"],"epic":null,"depends_on":[],"auto_dispatch":false,"design_loop":true}', 'c7a64583eb284d10c588990ff6a3de84df447276839146e893c6d4bf88c4a4ea', 'c895c6427b5da685eb6a78c7d8450584bd9f8edba507ba25afb29786e4eb7b2e');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (5, 'brief/1', 2, 'participant_joined', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:04.000000Z', 1, '{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null}', 'c895c6427b5da685eb6a78c7d8450584bd9f8edba507ba25afb29786e4eb7b2e', '9dd015ced3f4b74119fc243f2f47fec1ddf61c6a3d9da6151e31b322293e4d2f');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (6, 'brief/2', 1, 'brief_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:05.000000Z', 2, '{"number":2,"title":"Retry failed uploads, part 2","kind":"feature","projects":["web","docs"],"epic":1,"depends_on":[],"auto_dispatch":false,"design_loop":true}', '9dd015ced3f4b74119fc243f2f47fec1ddf61c6a3d9da6151e31b322293e4d2f', 'be5c5d9b8925f62b8603b8b7966c7bb01fc0d291d7fe789773c57331cb492d31');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (7, 'brief/2', 2, 'participant_joined', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:05.000000Z', 2, '{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null}', 'be5c5d9b8925f62b8603b8b7966c7bb01fc0d291d7fe789773c57331cb492d31', 'a1a79b071d5b64abd7a8ce4d461caf035aeda6c2d70003f0ebd72b73cfe5b665');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (8, 'brief/2', 3, 'plan_proposed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:06.000000Z', 2, '{"version":1,"base":0,"markdown":"# Plan 2\n\n1. try it''s \"three\" times\n"}', 'a1a79b071d5b64abd7a8ce4d461caf035aeda6c2d70003f0ebd72b73cfe5b665', 'be50593de6e71e001f7b7731db059b11848c3acf8d734a5b3e7fc24ab19e42b4');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (9, 'brief/2', 4, 'spec_snapshot', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:07.000000Z', 2, '{"version":1}', 'be50593de6e71e001f7b7731db059b11848c3acf8d734a5b3e7fc24ab19e42b4', '404c8f1c54dc99fbbb9f187ff0e05ca0a3217440369e65576cfd24b7d507fe60');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (10, 'brief/2', 5, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:07.000000Z', 2, '{"from":"draft","to":"planned","why":null}', '404c8f1c54dc99fbbb9f187ff0e05ca0a3217440369e65576cfd24b7d507fe60', '156fdecb2dbf36cc3122a081ea146b17ef7bd5e71b576f16510a6b84aa3e6b53');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (11, 'brief/2', 6, 'refinement', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:08.000000Z', 2, '{"version":2,"base":1,"why":"measured","markdown":"# Plan 2\n\nFünf mal – „sicher“ 🌱\n"}', '156fdecb2dbf36cc3122a081ea146b17ef7bd5e71b576f16510a6b84aa3e6b53', 'a650c9319725103b25a97defa7f41dc4a37f1cd652cc339d584826bf6722ee85');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (12, 'brief/2', 7, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:09.000000Z', 2, '{"from":"planned","to":"in_progress","why":null}', 'a650c9319725103b25a97defa7f41dc4a37f1cd652cc339d584826bf6722ee85', 'cb2eb3745f713be6b6e6b1f47631c6d495d1cba47c131fa70457193ca4557d7c');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (13, 'brief/2', 8, 'question_asked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:10.000000Z', 2, '{"question":1,"text":"How long between two tries?"}', 'cb2eb3745f713be6b6e6b1f47631c6d495d1cba47c131fa70457193ca4557d7c', '4cee09d11a45ebef2d057481bbca0acf79c69c1b6e4d3e49e7751c90fa2e41c0');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (14, 'brief/2', 9, 'decision_made', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:11.000000Z', 2, '{"question":1,"text":"Twice as long each time."}', '4cee09d11a45ebef2d057481bbca0acf79c69c1b6e4d3e49e7751c90fa2e41c0', '02a345fe069fc9b50a28a0c846506ef874501661c3d90532fe0d0353d5274e02');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (15, 'brief/2', 10, 'question_asked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:12.000000Z', 2, '{"question":2,"text":"And at night?"}', '02a345fe069fc9b50a28a0c846506ef874501661c3d90532fe0d0353d5274e02', 'd45e7fdc19035c86884e6d135faf4089b059c703a3424c0c9fe45bfc52925a74');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (16, 'brief/2', 11, 'note_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:13.000000Z', 2, '{"text":"seen 2 times","images":[{"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","media_type":"image/png","bytes":1,"width":2,"height":3}]}', 'd45e7fdc19035c86884e6d135faf4089b059c703a3424c0c9fe45bfc52925a74', '8dba7e005511602f34845779920782efcacc2db7fd58f5d017de19e80b6936af');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (17, 'brief/2', 12, 'comment_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:14.000000Z', 2, '{"text":"seen 2 times","images":[]}', '8dba7e005511602f34845779920782efcacc2db7fd58f5d017de19e80b6936af', '8cd5183ce2b03bf82349b2f5636a81285389421328784641cdcb3a4e0cb406c0');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (18, 'brief/2', 13, 'link_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:15.000000Z', 2, '{"kind":"brief","target":"1","label":""}', '8cd5183ce2b03bf82349b2f5636a81285389421328784641cdcb3a4e0cb406c0', 'b3ae13f1b586fb71eb6de46b70d34d0761db0be7c7392a9a784f3b848608f07c');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (19, 'scratchpad/1', 1, 'scratchpad_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:16.000000Z', 2, '{"number":1,"title":"Findings 2","brief":2}', 'b3ae13f1b586fb71eb6de46b70d34d0761db0be7c7392a9a784f3b848608f07c', '163518c212aa82a850696136fcc7e110c0d35353469d3051e76eeebd33e0bdaa');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (20, 'scratchpad/1', 2, 'scratchpad_written', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:16.000000Z', 2, '{"number":1,"version":1,"append":false,"text":"The server closes early.\n"}', '163518c212aa82a850696136fcc7e110c0d35353469d3051e76eeebd33e0bdaa', '6d53313298790bb4b327a21e43dbe994e0317e24b6b20a713a0ccfdb7bfcaa37');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (21, 'brief/2', 14, 'link_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:16.000000Z', 2, '{"kind":"execution","target":"scratchpad/1","label":"Scratchpad #1"}', '6d53313298790bb4b327a21e43dbe994e0317e24b6b20a713a0ccfdb7bfcaa37', 'bb0251614dc40315bc0882ab6a1b243e9aac235870c72c019bb0170f2ac56c34');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (22, 'scratchpad/1', 3, 'scratchpad_written', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:17.000000Z', 2, '{"number":1,"version":2,"append":true,"text":"At night.\n"}', 'bb0251614dc40315bc0882ab6a1b243e9aac235870c72c019bb0170f2ac56c34', '31e2582259d02946a59ceab1f643597b7255ce7c744362ceb0b28b2229aa211e');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (23, 'brief/3', 1, 'brief_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:18.000000Z', 3, '{"number":3,"title":"Retry failed uploads, part 3","kind":"feature","projects":["web","docs"],"epic":null,"depends_on":[],"auto_dispatch":false,"design_loop":true}', '31e2582259d02946a59ceab1f643597b7255ce7c744362ceb0b28b2229aa211e', '896ee65b6bf9db86372380b77305b35da194b88f0e06464a736305ad24cb0ce2');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (24, 'brief/3', 2, 'participant_joined', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:18.000000Z', 3, '{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null}', '896ee65b6bf9db86372380b77305b35da194b88f0e06464a736305ad24cb0ce2', 'fefebdf4c59b1813027e0baa3e46363444b61422f0ee0574e32bfdeb199c2ac9');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (25, 'brief/3', 3, 'plan_proposed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:19.000000Z', 3, '{"version":1,"base":0,"markdown":"# Plan 3\n\n1. try it''s \"three\" times\n"}', 'fefebdf4c59b1813027e0baa3e46363444b61422f0ee0574e32bfdeb199c2ac9', '81a850658748cac8cac4eb6cf37b72c2388f010b18d62fdfe558fd6d9b2c65ef');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (26, 'brief/3', 4, 'spec_snapshot', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:20.000000Z', 3, '{"version":1}', '81a850658748cac8cac4eb6cf37b72c2388f010b18d62fdfe558fd6d9b2c65ef', '4ae4bdd72e974da249d2a91542ccdb2899e141567477190580b6eec410b1b437');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (27, 'brief/3', 5, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:20.000000Z', 3, '{"from":"draft","to":"planned","why":null}', '4ae4bdd72e974da249d2a91542ccdb2899e141567477190580b6eec410b1b437', '1650115bdc2189c9dc05369efc64e3198f3beac3bc544b725ca14185c629a09f');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (28, 'brief/3', 6, 'refinement', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:21.000000Z', 3, '{"version":2,"base":1,"why":"measured","markdown":"# Plan 3\n\nFünf mal – „sicher“ 🌱\n"}', '1650115bdc2189c9dc05369efc64e3198f3beac3bc544b725ca14185c629a09f', '5c0d2b84d77a8eb607f44d5fc84a9e7f1592988cc2bb7c085b82747a78fa1e97');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (29, 'brief/3', 7, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:22.000000Z', 3, '{"from":"planned","to":"in_progress","why":null}', '5c0d2b84d77a8eb607f44d5fc84a9e7f1592988cc2bb7c085b82747a78fa1e97', '087da7ef481147c8e636ade329f9e8da0287e01f653ea56f92efa76ed0e793ea');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (30, 'brief/3', 8, 'question_asked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:23.000000Z', 3, '{"question":1,"text":"How long between two tries?"}', '087da7ef481147c8e636ade329f9e8da0287e01f653ea56f92efa76ed0e793ea', '3b76b152c388cda9730baed6825b7009242e732bf5a70d37eedddb4682afc6f7');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (31, 'brief/3', 9, 'decision_made', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:24.000000Z', 3, '{"question":1,"text":"Twice as long each time."}', '3b76b152c388cda9730baed6825b7009242e732bf5a70d37eedddb4682afc6f7', '0fa7f9cbe3602525006074041d13d48f68f998e8db22f83cf0e9ca3e4304a9a4');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (32, 'brief/3', 10, 'question_asked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:25.000000Z', 3, '{"question":2,"text":"And at night?"}', '0fa7f9cbe3602525006074041d13d48f68f998e8db22f83cf0e9ca3e4304a9a4', '1118e3675779453dfe7d0fbd71dfea423144c9add385d3b386c03b77905aa37b');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (33, 'brief/3', 11, 'note_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:26.000000Z', 3, '{"text":"seen 3 times","images":[{"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","media_type":"image/png","bytes":1,"width":2,"height":3}]}', '1118e3675779453dfe7d0fbd71dfea423144c9add385d3b386c03b77905aa37b', 'fa296e68990318a5c715067672c5916753ca5595e3ddd0d97251a08fddafe5fc');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (34, 'brief/3', 12, 'comment_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:27.000000Z', 3, '{"text":"seen 3 times","images":[]}', 'fa296e68990318a5c715067672c5916753ca5595e3ddd0d97251a08fddafe5fc', '9cbcf3b83910f86a756f2f84fd3aa0a1bbf34dec660ec8098ec1f7ad02f755bb');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (35, 'brief/3', 13, 'link_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:28.000000Z', 3, '{"kind":"brief","target":"1","label":""}', '9cbcf3b83910f86a756f2f84fd3aa0a1bbf34dec660ec8098ec1f7ad02f755bb', '8bf46b299e8923cdeb50b00d021131d53412f5148f8d80d456409e097a704ffb');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (36, 'scratchpad/2', 1, 'scratchpad_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:29.000000Z', 3, '{"number":2,"title":"Findings 3","brief":3}', '8bf46b299e8923cdeb50b00d021131d53412f5148f8d80d456409e097a704ffb', '6fc2601932e375e3cda62420f6494ead96a210a23ec44447560b5f538974923e');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (37, 'scratchpad/2', 2, 'scratchpad_written', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:29.000000Z', 3, '{"number":2,"version":1,"append":false,"text":"The server closes early.\n"}', '6fc2601932e375e3cda62420f6494ead96a210a23ec44447560b5f538974923e', '3911a26379d6801221cce5d5fba54b58a484b5ad2b1a9d23a58c52563f89272b');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (38, 'brief/3', 14, 'link_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:29.000000Z', 3, '{"kind":"execution","target":"scratchpad/2","label":"Scratchpad #2"}', '3911a26379d6801221cce5d5fba54b58a484b5ad2b1a9d23a58c52563f89272b', '38cb9b2b0b8dce452aca60fdfb78e759aaafd3036424a184398b60350a8b9716');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (39, 'scratchpad/2', 3, 'scratchpad_written', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:30.000000Z', 3, '{"number":2,"version":2,"append":true,"text":"At night.\n"}', '38cb9b2b0b8dce452aca60fdfb78e759aaafd3036424a184398b60350a8b9716', '1a26df85b7a0da19810dc9327589d0812844736254ad7a0928e9c742ad501902');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (40, 'brief/3', 15, 'dependency_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:31.000000Z', 3, '{"needs":2}', '1a26df85b7a0da19810dc9327589d0812844736254ad7a0928e9c742ad501902', 'c20a3a414bc55df95300d28212304f6bd4a1660dd7984656baedddf59d50c114');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (41, 'brief/3', 16, 'dependency_dropped', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:32.000000Z', 3, '{"needs":2}', 'c20a3a414bc55df95300d28212304f6bd4a1660dd7984656baedddf59d50c114', '2349a549d94901d96216c4411f34875072f833020c508bbe05c220d0f44ebcd3');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (42, 'brief/3', 17, 'brief_renamed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:33.000000Z', 3, '{"from":"Retry failed uploads, part 3","to":"Repeat broken uploads, part 3"}', '2349a549d94901d96216c4411f34875072f833020c508bbe05c220d0f44ebcd3', '458744b975dffcf5e99eb9cb30302559f373c01a84626e5c1b5976f61ea953c2');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (43, 'brief/3', 18, 'kind_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:33.000000Z', 3, '{"from":"feature","to":"fix"}', '458744b975dffcf5e99eb9cb30302559f373c01a84626e5c1b5976f61ea953c2', '94259ffb33776ae1139e1dbe33df5be34adc81a1a57c51f71206840d7103b266');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (44, 'brief/3', 19, 'epic_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:33.000000Z', 3, '{"from":null,"to":1}', '94259ffb33776ae1139e1dbe33df5be34adc81a1a57c51f71206840d7103b266', 'cd6ab35df0109d6d08f69ff5cf73ba8edba1e3cd58336adc4edef42b381da08e');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (45, 'brief/3', 20, 'dispatch_options_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:33.000000Z', 3, '{"auto_dispatch":true,"design_loop":true}', 'cd6ab35df0109d6d08f69ff5cf73ba8edba1e3cd58336adc4edef42b381da08e', '2872672253cbf47b3720f4f0f202794318f2913b1e97d5db4089a4ee334c797b');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (46, 'brief/3', 21, 'projects_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:33.000000Z', 3, '{"projects":["web"]}', '2872672253cbf47b3720f4f0f202794318f2913b1e97d5db4089a4ee334c797b', 'b5b502fd8e4d37b48d6e4b10bc503c474b94ea859544abd6d668c1b31c59ae75');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (47, 'brief/3', 22, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:34.000000Z', 3, '{"from":"in_progress","to":"parked","why":"waits"}', 'b5b502fd8e4d37b48d6e4b10bc503c474b94ea859544abd6d668c1b31c59ae75', 'dd1b9b2a428512c6820202ce65834434bbb906f8e29e2a9c78de6da9bce18bf1');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (48, 'brief/4', 1, 'brief_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:35.000000Z', 4, '{"number":4,"title":"Retry failed uploads, part 4","kind":"feature","projects":["web","docs"],"epic":1,"depends_on":[],"auto_dispatch":false,"design_loop":true}', 'dd1b9b2a428512c6820202ce65834434bbb906f8e29e2a9c78de6da9bce18bf1', 'a0a47e6ec5aac1add0e6dbfa0f1ed120cdee47ecf4ef878453f84a40435993a1');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (49, 'brief/4', 2, 'participant_joined', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:35.000000Z', 4, '{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null}', 'a0a47e6ec5aac1add0e6dbfa0f1ed120cdee47ecf4ef878453f84a40435993a1', '7ab68eca057be1b332bbc1f37bb9760cb260becc0a187182a0fd6034146f778f');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (50, 'brief/4', 3, 'plan_proposed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:36.000000Z', 4, '{"version":1,"base":0,"markdown":"# Plan 4\n\n1. try it''s \"three\" times\n"}', '7ab68eca057be1b332bbc1f37bb9760cb260becc0a187182a0fd6034146f778f', '975a3fc51bb04052642925f2bcd287476c8de8737bd571422601d253e74b62ab');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (51, 'brief/4', 4, 'spec_snapshot', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:37.000000Z', 4, '{"version":1}', '975a3fc51bb04052642925f2bcd287476c8de8737bd571422601d253e74b62ab', '9f0a7c98ffb48491ee658ce8307d70053d321358cfdf6cdaf916d585fcf4b9a7');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (52, 'brief/4', 5, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:37.000000Z', 4, '{"from":"draft","to":"planned","why":null}', '9f0a7c98ffb48491ee658ce8307d70053d321358cfdf6cdaf916d585fcf4b9a7', '9d6d908920bc008924b0a98ffe114b048e7e502c5dd1f15f4b40c86c19d34a57');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (53, 'brief/4', 6, 'refinement', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:38.000000Z', 4, '{"version":2,"base":1,"why":"measured","markdown":"# Plan 4\n\nFünf mal – „sicher“ 🌱\n"}', '9d6d908920bc008924b0a98ffe114b048e7e502c5dd1f15f4b40c86c19d34a57', 'baa880f6a8caf3f18cb03b6f6c019e092380b1ab6eb371cc3014a6ecb39cab4b');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (54, 'brief/4', 7, 'status_changed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:39.000000Z', 4, '{"from":"planned","to":"in_progress","why":null}', 'baa880f6a8caf3f18cb03b6f6c019e092380b1ab6eb371cc3014a6ecb39cab4b', '71063b33a20071aae66bbc4096c317a37efa77f768219ad6e305dcb2a1dd93d3');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (55, 'brief/4', 8, 'question_asked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:40.000000Z', 4, '{"question":1,"text":"How long between two tries?"}', '71063b33a20071aae66bbc4096c317a37efa77f768219ad6e305dcb2a1dd93d3', 'fdce4dc22930d1b87b4aee059560cfb2721191703b7afee484d9997da0d8b628');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (56, 'brief/4', 9, 'decision_made', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:41.000000Z', 4, '{"question":1,"text":"Twice as long each time."}', 'fdce4dc22930d1b87b4aee059560cfb2721191703b7afee484d9997da0d8b628', '0545eca92f8878ffc3affb4f3e0912d2c43741b6ef9ed0849e268e0e60044818');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (57, 'brief/4', 10, 'question_asked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:42.000000Z', 4, '{"question":2,"text":"And at night?"}', '0545eca92f8878ffc3affb4f3e0912d2c43741b6ef9ed0849e268e0e60044818', 'a8e776e130f44bc3062bf4975461a1085c3f712af3bb7a51f68df9e7ace2256e');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (58, 'brief/4', 11, 'note_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:43.000000Z', 4, '{"text":"seen 4 times","images":[{"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","media_type":"image/png","bytes":1,"width":2,"height":3}]}', 'a8e776e130f44bc3062bf4975461a1085c3f712af3bb7a51f68df9e7ace2256e', 'f6e855aad00426d030bd2ab0ffd21adf807bcc604c118fb381305888e47ebb3d');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (59, 'brief/4', 12, 'comment_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:44.000000Z', 4, '{"text":"seen 4 times","images":[]}', 'f6e855aad00426d030bd2ab0ffd21adf807bcc604c118fb381305888e47ebb3d', '38735995c7354065fd2dc3d3326b006d264731da1b063fdf5e62d51fc2efa8a0');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (60, 'brief/4', 13, 'link_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:45.000000Z', 4, '{"kind":"brief","target":"1","label":""}', '38735995c7354065fd2dc3d3326b006d264731da1b063fdf5e62d51fc2efa8a0', 'e42fde76a2d53b5d6172102692cff939cb0d46fcc2568e69a97b66e8f671ffcb');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (61, 'scratchpad/3', 1, 'scratchpad_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:46.000000Z', 4, '{"number":3,"title":"Findings 4","brief":4}', 'e42fde76a2d53b5d6172102692cff939cb0d46fcc2568e69a97b66e8f671ffcb', '5fe187411a4ea32830135da55ac7eb5c0f80133c560c3aa1a325470b51733995');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (62, 'scratchpad/3', 2, 'scratchpad_written', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:46.000000Z', 4, '{"number":3,"version":1,"append":false,"text":"The server closes early.\n"}', '5fe187411a4ea32830135da55ac7eb5c0f80133c560c3aa1a325470b51733995', 'b41e27eb302d52de4f1e1053cd6524ae9d4368b8631b94e0ec112886b546de98');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (63, 'brief/4', 14, 'link_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:46.000000Z', 4, '{"kind":"execution","target":"scratchpad/3","label":"Scratchpad #3"}', 'b41e27eb302d52de4f1e1053cd6524ae9d4368b8631b94e0ec112886b546de98', '7e11b0ee4625ae8aedb368c9e1a646f2955e4b3b7ca1dbbf5aeb884c8ff60777');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (64, 'scratchpad/3', 3, 'scratchpad_written', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:47.000000Z', 4, '{"number":3,"version":2,"append":true,"text":"At night.\n"}', '7e11b0ee4625ae8aedb368c9e1a646f2955e4b3b7ca1dbbf5aeb884c8ff60777', 'cd7afe336d7e1d4007009a1e1a16a0e69235935a6306e1e18ce4ec90a811e9b8');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (65, 'brief/4', 15, 'dependency_added', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:48.000000Z', 4, '{"needs":3}', 'cd7afe336d7e1d4007009a1e1a16a0e69235935a6306e1e18ce4ec90a811e9b8', '9aad9e08665efcbf367437d48dd18e183b78035661cd5bda993be8bf0e404096');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (66, 'worktree/1', 1, 'worktree_requested', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:49.000000Z', 2, '{"number":1,"project":"web","name":"fix","sort":"lane","seal":"sealed","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":2}', '9aad9e08665efcbf367437d48dd18e183b78035661cd5bda993be8bf0e404096', '35747c3e98435875eeba76fadc6d76062ffcc32e83b6b9a613fcbb3c6ddf3680');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (67, 'worktree/1', 2, 'worktree_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:50.000000Z', 2, '{"number":1,"name":"fix","branch":"flower/fix","path":"/w/1"}', '35747c3e98435875eeba76fadc6d76062ffcc32e83b6b9a613fcbb3c6ddf3680', 'b461a40c6af29eb2061641e69175010abe9923ea8ebf5b4832802560a579bf07');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (68, 'worktree/2', 1, 'worktree_requested', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:51.000000Z', NULL, '{"number":2,"project":"web","name":"night","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null}', 'b461a40c6af29eb2061641e69175010abe9923ea8ebf5b4832802560a579bf07', '04b2c22a0b24f2cecdbbf5071e469a3edc48b47faa67a7cba88795af4f3ed8ff');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (69, 'worktree/2', 2, 'worktree_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:52.000000Z', NULL, '{"number":2,"name":"night","branch":"flower/night","path":"/w/2"}', '04b2c22a0b24f2cecdbbf5071e469a3edc48b47faa67a7cba88795af4f3ed8ff', '774fb5a9c1628c550677813bb45f722e972b1a811779a075960a8133f7b12208');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (70, 'worktree/2', 3, 'worktree_removing', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:53.000000Z', NULL, '{"number":2}', '774fb5a9c1628c550677813bb45f722e972b1a811779a075960a8133f7b12208', 'f664c0af3196900d57cbcb2f9439840e7e322a5bd9491ef3e111b2be504e6630');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (71, 'worktree/2', 4, 'worktree_removed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:54.000000Z', NULL, '{"number":2,"tip":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","branch_kept":true,"files":2,"bytes":11,"left_out":[],"until":"2026-12-15T12:00:00Z"}', 'f664c0af3196900d57cbcb2f9439840e7e322a5bd9491ef3e111b2be504e6630', 'b8b49f22ee917d35122a32a48c2ca796804722a1bc8f3d4fb4498476b5d8bf26');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (72, 'worktree/3', 1, 'worktree_requested', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:55.000000Z', NULL, '{"number":3,"project":"web","name":"gone","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null}', 'b8b49f22ee917d35122a32a48c2ca796804722a1bc8f3d4fb4498476b5d8bf26', 'a25d0ccb54f8429764a49c48fafe5617b150515df63e8e06bd8b93b7d05e81a3');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (73, 'worktree/3', 2, 'worktree_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:56.000000Z', NULL, '{"number":3,"name":"gone","branch":"flower/gone","path":"/w/3"}', 'a25d0ccb54f8429764a49c48fafe5617b150515df63e8e06bd8b93b7d05e81a3', 'c5cec9545ba5739203ecbdb53b1620e5b4dd4fd85b72ea170e4fddc271c93ce3');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (74, 'worktree/3', 3, 'worktree_removing', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:57.000000Z', NULL, '{"number":3}', 'c5cec9545ba5739203ecbdb53b1620e5b4dd4fd85b72ea170e4fddc271c93ce3', '96b11f4c02501bdaa08d85e62fcc8406a64d4b25e92d23b90d58705118e5d4bf');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (75, 'worktree/3', 4, 'worktree_removed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:58.000000Z', NULL, '{"number":3,"tip":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","branch_kept":true,"files":2,"bytes":11,"left_out":[],"until":"2026-12-15T12:00:00Z"}', '96b11f4c02501bdaa08d85e62fcc8406a64d4b25e92d23b90d58705118e5d4bf', '0501bf07ba0374360338c59f2eded05df269c0e86231438d5ed1eeb3d13ad1f5');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (76, 'worktree/4', 1, 'worktree_requested', 1, 'system', 'flower', 'daemon', '2026-11-01T00:00:59.000000Z', NULL, '{"number":4,"project":"web","name":"back","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null}', '0501bf07ba0374360338c59f2eded05df269c0e86231438d5ed1eeb3d13ad1f5', '795ce3dd7fd1001cbd69f8a5b7abac7ce94c95e411db9487dd33b3c274a55284');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (77, 'worktree/4', 2, 'worktree_created', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:00.000000Z', NULL, '{"number":4,"name":"back","branch":"flower/back","path":"/w/4"}', '795ce3dd7fd1001cbd69f8a5b7abac7ce94c95e411db9487dd33b3c274a55284', '11153618180bd5fcff1d7d72741ecf35f1eaf33b5994bc113954f8c68df60849');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (78, 'worktree/4', 3, 'worktree_removing', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:01.000000Z', NULL, '{"number":4}', '11153618180bd5fcff1d7d72741ecf35f1eaf33b5994bc113954f8c68df60849', '45abb20d2d1e7956c88efcebc7f117939ae64a6331a9f6249bca9a84e48d9078');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (79, 'worktree/4', 4, 'worktree_removed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:02.000000Z', NULL, '{"number":4,"tip":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","branch_kept":true,"files":2,"bytes":11,"left_out":[],"until":"2026-12-15T12:00:00Z"}', '45abb20d2d1e7956c88efcebc7f117939ae64a6331a9f6249bca9a84e48d9078', 'b5cd7d9d05ec65c95da2641c39b19e3751a1b74628d316f86103c25a599dacc6');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (80, 'worktree/5', 1, 'worktree_requested', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:03.000000Z', NULL, '{"number":5,"project":"web","name":"broken","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null}', 'b5cd7d9d05ec65c95da2641c39b19e3751a1b74628d316f86103c25a599dacc6', '5771ca659e1318a761bac9e0817471a0bc569f83983991f3c5dae50b43dd6023');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (81, 'worktree/5', 2, 'worktree_failed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:04.000000Z', NULL, '{"number":5,"why":"the disk is full"}', '5771ca659e1318a761bac9e0817471a0bc569f83983991f3c5dae50b43dd6023', 'dab458e5c5a29d45698188e51e72e843f28cfd279232a75144f469e15562f0b1');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (82, 'worktree/3', 5, 'archive_dropped', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:05.000000Z', NULL, '{"number":3}', 'dab458e5c5a29d45698188e51e72e843f28cfd279232a75144f469e15562f0b1', '475e99c813b4fdfabd26e197df99a62c4eae8e0d042d172740f379bf661f367f');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (83, 'worktree/4', 5, 'worktree_restoring', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:06.000000Z', NULL, '{"number":4}', '475e99c813b4fdfabd26e197df99a62c4eae8e0d042d172740f379bf661f367f', 'c7394fab5fc29a1748ffd0ac2c1336ceaf5ab831cccaf149c8349056822d079d');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (84, 'worktree/4', 6, 'worktree_restored', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:07.000000Z', NULL, '{"number":4,"path":"/w/4"}', 'c7394fab5fc29a1748ffd0ac2c1336ceaf5ab831cccaf149c8349056822d079d', '6ddfb79456cc9099707aac665edba1b735d5465262bc05802a740ffb337b1f70');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (85, 'project/web', 2, 'commands_approved', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:08.000000Z', NULL, '{"project":"web","sha256":"9db3f780def6105eee3cc930de4d0982607760820fddaa3facdd3813ccb40628"}', '6ddfb79456cc9099707aac665edba1b735d5465262bc05802a740ffb337b1f70', 'a09399071f8cc1fa2415608274ceec26d6c1e99c0399ff654bc915086efec48f');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (86, 'project/docs', 2, 'project_removed', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:09.000000Z', NULL, '{"name":"docs"}', 'a09399071f8cc1fa2415608274ceec26d6c1e99c0399ff654bc915086efec48f', 'f1e2ae33f0a2c7deb64b897d021e22b4cb5715fa373863ad6c9845f707a4b90b');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (87, 'token/night', 1, 'token_issued', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:10.000000Z', NULL, '{"id":"night","agent":"agent-night","role":"worker","brief":2,"worktree":"lane-2","sha256":"176473d7313395b6e209bc6b1d57aa160b628706860aa0554d7af60a1d40ab87"}', 'f1e2ae33f0a2c7deb64b897d021e22b4cb5715fa373863ad6c9845f707a4b90b', 'b88f90106886467062a78d403eae129b69806bd546203ab9228b81e843d32b72');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (88, 'token/lane', 1, 'token_issued', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:11.000000Z', NULL, '{"id":"lane","agent":"agent-lane","role":"worker","brief":2,"worktree":"lane-2","sha256":"d93244e7b08131ef10eda16a0717627450cf0e51d1ca713c41d301a51b9a6e54"}', 'b88f90106886467062a78d403eae129b69806bd546203ab9228b81e843d32b72', '1f3e5e982470c211c294069bf986b0b0384c2b032c2491750b08bf0a34b4f26a');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (89, 'token/night', 2, 'token_revoked', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:12.000000Z', NULL, '{"id":"night"}', '1f3e5e982470c211c294069bf986b0b0384c2b032c2491750b08bf0a34b4f26a', 'b1ac8b3bcf97a2caedaa6aa4522889e84b7e28105454f892a87959ff310e27ee');
INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash) VALUES (90, 'log', 1, 'loss_accepted', 1, 'system', 'flower', 'daemon', '2026-11-01T00:01:13.000000Z', NULL, '{"proved_seq":9,"proved_hash":"ad4f0f2a08ae928fede577c6b0adfa2840e764412818eac5f17a836ad50dcbb6","found_seq":7,"found_hash":"bcc649cfdb8cc557053da67df7e7fcb740dcf7f721cebe1f2082597ad0d5e7d8"}', 'b1ac8b3bcf97a2caedaa6aa4522889e84b7e28105454f892a87959ff310e27ee', 'fbaf88da7c19b05d5e2c01febf0e0fb9cd6574abb69b3a61b30db7c19e39d146');
INSERT INTO briefs (number, title, kind, status, epic, updated_at, state) VALUES (1, 'Uploads that never fail', 'epic', 'draft', NULL, '2026-11-01T00:00:04.000000Z', '{"number":1,"title":"Uploads that never fail","kind":"epic","status":"draft","parked_from":null,"spec_version":0,"accepted_version":null,"projects":["web","docs"],"epic":null,"depends_on":[],"auto_dispatch":false,"design_loop":true,"participants":[{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null,"active":true}],"questions":0,"open_questions":[],"commits":0,"created_at":"2026-11-01T00:00:04.000000Z","updated_at":"2026-11-01T00:00:04.000000Z"}');
INSERT INTO briefs (number, title, kind, status, epic, updated_at, state) VALUES (2, 'Retry failed uploads, part 2', 'feature', 'in_progress', 1, '2026-11-01T00:00:50.000000Z', '{"number":2,"title":"Retry failed uploads, part 2","kind":"feature","status":"in_progress","parked_from":null,"spec_version":2,"accepted_version":1,"projects":["web","docs"],"epic":1,"depends_on":[],"auto_dispatch":false,"design_loop":true,"participants":[{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null,"active":true}],"questions":2,"open_questions":[2],"commits":0,"created_at":"2026-11-01T00:00:05.000000Z","updated_at":"2026-11-01T00:00:50.000000Z"}');
INSERT INTO briefs (number, title, kind, status, epic, updated_at, state) VALUES (3, 'Repeat broken uploads, part 3', 'fix', 'parked', 1, '2026-11-01T00:00:34.000000Z', '{"number":3,"title":"Repeat broken uploads, part 3","kind":"fix","status":"parked","parked_from":"in_progress","spec_version":2,"accepted_version":1,"projects":["web"],"epic":1,"depends_on":[],"auto_dispatch":true,"design_loop":true,"participants":[{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null,"active":true}],"questions":2,"open_questions":[2],"commits":0,"created_at":"2026-11-01T00:00:18.000000Z","updated_at":"2026-11-01T00:00:34.000000Z"}');
INSERT INTO briefs (number, title, kind, status, epic, updated_at, state) VALUES (4, 'Retry failed uploads, part 4', 'feature', 'in_progress', 1, '2026-11-01T00:00:48.000000Z', '{"number":4,"title":"Retry failed uploads, part 4","kind":"feature","status":"in_progress","parked_from":null,"spec_version":2,"accepted_version":1,"projects":["web","docs"],"epic":1,"depends_on":[3],"auto_dispatch":false,"design_loop":true,"participants":[{"name":"flower","type":"system","role":"operator","worktree":null,"wave":null,"active":true}],"questions":2,"open_questions":[2],"commits":0,"created_at":"2026-11-01T00:00:35.000000Z","updated_at":"2026-11-01T00:00:48.000000Z"}');
INSERT INTO brief_projects (project, brief) VALUES ('docs', 1);
INSERT INTO brief_projects (project, brief) VALUES ('docs', 2);
INSERT INTO brief_projects (project, brief) VALUES ('docs', 4);
INSERT INTO brief_projects (project, brief) VALUES ('web', 1);
INSERT INTO brief_projects (project, brief) VALUES ('web', 2);
INSERT INTO brief_projects (project, brief) VALUES ('web', 3);
INSERT INTO brief_projects (project, brief) VALUES ('web', 4);
INSERT INTO brief_needs (brief, needs) VALUES (4, 3);
INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown) VALUES (2, 1, 'plan', 0, NULL, 'system', 'flower', '2026-11-01T00:00:06.000000Z', 1, '# Plan 2

1. try it''s "three" times
');
INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown) VALUES (2, 2, 'refinement', 1, 'measured', 'system', 'flower', '2026-11-01T00:00:08.000000Z', 0, '# Plan 2

Fünf mal – „sicher“ 🌱
');
INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown) VALUES (3, 1, 'plan', 0, NULL, 'system', 'flower', '2026-11-01T00:00:19.000000Z', 1, '# Plan 3

1. try it''s "three" times
');
INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown) VALUES (3, 2, 'refinement', 1, 'measured', 'system', 'flower', '2026-11-01T00:00:21.000000Z', 0, '# Plan 3

Fünf mal – „sicher“ 🌱
');
INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown) VALUES (4, 1, 'plan', 0, NULL, 'system', 'flower', '2026-11-01T00:00:36.000000Z', 1, '# Plan 4

1. try it''s "three" times
');
INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown) VALUES (4, 2, 'refinement', 1, 'measured', 'system', 'flower', '2026-11-01T00:00:38.000000Z', 0, '# Plan 4

Fünf mal – „sicher“ 🌱
');
INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at) VALUES (2, 1, 'How long between two tries?', 'system', 'flower', '2026-11-01T00:00:10.000000Z', 'Twice as long each time.', 'flower', '2026-11-01T00:00:11.000000Z');
INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at) VALUES (2, 2, 'And at night?', 'system', 'flower', '2026-11-01T00:00:12.000000Z', NULL, NULL, NULL);
INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at) VALUES (3, 1, 'How long between two tries?', 'system', 'flower', '2026-11-01T00:00:23.000000Z', 'Twice as long each time.', 'flower', '2026-11-01T00:00:24.000000Z');
INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at) VALUES (3, 2, 'And at night?', 'system', 'flower', '2026-11-01T00:00:25.000000Z', NULL, NULL, NULL);
INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at) VALUES (4, 1, 'How long between two tries?', 'system', 'flower', '2026-11-01T00:00:40.000000Z', 'Twice as long each time.', 'flower', '2026-11-01T00:00:41.000000Z');
INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at) VALUES (4, 2, 'And at night?', 'system', 'flower', '2026-11-01T00:00:42.000000Z', NULL, NULL, NULL);
INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES (2, 'brief', '1', '', 'flower', '2026-11-01T00:00:15.000000Z', 18);
INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES (2, 'execution', 'scratchpad/1', 'Scratchpad #1', 'flower', '2026-11-01T00:00:16.000000Z', 21);
INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES (3, 'brief', '1', '', 'flower', '2026-11-01T00:00:28.000000Z', 35);
INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES (3, 'execution', 'scratchpad/2', 'Scratchpad #2', 'flower', '2026-11-01T00:00:29.000000Z', 38);
INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES (4, 'brief', '1', '', 'flower', '2026-11-01T00:00:45.000000Z', 60);
INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES (4, 'execution', 'scratchpad/3', 'Scratchpad #3', 'flower', '2026-11-01T00:00:46.000000Z', 63);
INSERT INTO scratchpads (number, title, brief, version, actor_name, created_at, updated_at, text) VALUES (1, 'Findings 2', 2, 2, 'flower', '2026-11-01T00:00:16.000000Z', '2026-11-01T00:00:17.000000Z', 'The server closes early.
At night.
');
INSERT INTO scratchpads (number, title, brief, version, actor_name, created_at, updated_at, text) VALUES (2, 'Findings 3', 3, 2, 'flower', '2026-11-01T00:00:29.000000Z', '2026-11-01T00:00:30.000000Z', 'The server closes early.
At night.
');
INSERT INTO scratchpads (number, title, brief, version, actor_name, created_at, updated_at, text) VALUES (3, 'Findings 4', 4, 2, 'flower', '2026-11-01T00:00:46.000000Z', '2026-11-01T00:00:47.000000Z', 'The server closes early.
At night.
');
INSERT INTO projects (name, root, at) VALUES ('api', '/src/api', '2026-11-01T00:00:02.000000Z');
INSERT INTO projects (name, root, at) VALUES ('web', '/src/web', '2026-11-01T00:00:01.000000Z');
INSERT INTO tokens (id, agent, role, brief, worktree, sha256, at, revoked_at) VALUES ('lane', 'agent-lane', 'worker', 2, 'lane-2', 'd93244e7b08131ef10eda16a0717627450cf0e51d1ca713c41d301a51b9a6e54', '2026-11-01T00:01:11.000000Z', NULL);
INSERT INTO tokens (id, agent, role, brief, worktree, sha256, at, revoked_at) VALUES ('night', 'agent-night', 'worker', 2, 'lane-2', '176473d7313395b6e209bc6b1d57aa160b628706860aa0554d7af60a1d40ab87', '2026-11-01T00:01:10.000000Z', '2026-11-01T00:01:12.000000Z');
INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES (1, 'web', 'fix', 'ready', 1, 2, '{"number":1,"project":"web","name":"fix","branch":"flower/fix","sort":"lane","seal":"sealed","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":2,"stage":"ready","created_at":"2026-11-01T00:00:49.000000Z","archive":null}');
INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES (2, 'web', 'night', 'removed', 0, NULL, '{"number":2,"project":"web","name":"night","branch":"flower/night","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null,"stage":"removed","created_at":"2026-11-01T00:00:51.000000Z","archive":{"tip":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","branch_kept":true,"files":2,"bytes":11,"left_out":[],"removed_at":"2026-11-01T00:00:54.000000Z","until":"2026-12-15T12:00:00Z"}}');
INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES (3, 'web', 'gone', 'removed', 0, NULL, '{"number":3,"project":"web","name":"gone","branch":"flower/gone","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null,"stage":"removed","created_at":"2026-11-01T00:00:55.000000Z","archive":null}');
INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES (4, 'web', 'back', 'ready', 1, NULL, '{"number":4,"project":"web","name":"back","branch":"flower/back","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null,"stage":"ready","created_at":"2026-11-01T00:00:59.000000Z","archive":null}');
INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES (5, 'web', 'broken', 'failed', 0, NULL, '{"number":5,"project":"web","name":"broken","branch":"flower/broken","sort":"ephemeral","seal":"linked","base":"c0ffeec0ffeec0ffeec0ffeec0ffeec0ffee","from":"main","brief":null,"stage":"failed","created_at":"2026-11-01T00:01:03.000000Z","archive":null}');
INSERT INTO approvals (project, sha256, at) VALUES ('web', '9db3f780def6105eee3cc930de4d0982607760820fddaa3facdd3813ccb40628', '2026-11-01T00:01:08.000000Z');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (4, 1, 'brief', 1, 'Uploads that never fail', '');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (6, 2, 'brief', 2, 'Retry failed uploads, part 2', '# Plan 2

Fünf mal – „sicher“ 🌱
');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (13, 2, 'trace', 13, '', 'How long between two tries?');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (14, 2, 'trace', 14, '', 'Twice as long each time.');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (15, 2, 'trace', 15, '', 'And at night?');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (16, 2, 'trace', 16, '', 'seen 2 times');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (17, 2, 'trace', 17, '', 'seen 2 times');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (19, 2, 'scratchpad', 1, 'Findings 2', 'The server closes early.
At night.
');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (23, 3, 'brief', 3, 'Repeat broken uploads, part 3', '# Plan 3

Fünf mal – „sicher“ 🌱
');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (30, 3, 'trace', 30, '', 'How long between two tries?');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (31, 3, 'trace', 31, '', 'Twice as long each time.');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (32, 3, 'trace', 32, '', 'And at night?');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (33, 3, 'trace', 33, '', 'seen 3 times');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (34, 3, 'trace', 34, '', 'seen 3 times');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (36, 3, 'scratchpad', 2, 'Findings 3', 'The server closes early.
At night.
');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (48, 4, 'brief', 4, 'Retry failed uploads, part 4', '# Plan 4

Fünf mal – „sicher“ 🌱
');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (55, 4, 'trace', 55, '', 'How long between two tries?');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (56, 4, 'trace', 56, '', 'Twice as long each time.');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (57, 4, 'trace', 57, '', 'And at night?');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (58, 4, 'trace', 58, '', 'seen 4 times');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (59, 4, 'trace', 59, '', 'seen 4 times');
INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES (61, 4, 'scratchpad', 3, 'Findings 4', 'The server closes early.
At night.
');
INSERT INTO search_words (word) VALUES ('between');
INSERT INTO search_words (word) VALUES ('broken');
INSERT INTO search_words (word) VALUES ('closes');
INSERT INTO search_words (word) VALUES ('each');
INSERT INTO search_words (word) VALUES ('early');
INSERT INTO search_words (word) VALUES ('fail');
INSERT INTO search_words (word) VALUES ('failed');
INSERT INTO search_words (word) VALUES ('findings');
INSERT INTO search_words (word) VALUES ('fünf');
INSERT INTO search_words (word) VALUES ('long');
INSERT INTO search_words (word) VALUES ('never');
INSERT INTO search_words (word) VALUES ('night');
INSERT INTO search_words (word) VALUES ('part');
INSERT INTO search_words (word) VALUES ('plan');
INSERT INTO search_words (word) VALUES ('repeat');
INSERT INTO search_words (word) VALUES ('retry');
INSERT INTO search_words (word) VALUES ('seen');
INSERT INTO search_words (word) VALUES ('server');
INSERT INTO search_words (word) VALUES ('sicher');
INSERT INTO search_words (word) VALUES ('that');
INSERT INTO search_words (word) VALUES ('three');
INSERT INTO search_words (word) VALUES ('time');
INSERT INTO search_words (word) VALUES ('times');
INSERT INTO search_words (word) VALUES ('tries');
INSERT INTO search_words (word) VALUES ('twice');
INSERT INTO search_words (word) VALUES ('uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('ach', 'each');
INSERT INTO search_spellings (spelling, word) VALUES ('ail', 'fail');
INSERT INTO search_spellings (spelling, word) VALUES ('ailed', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('arly', 'early');
INSERT INTO search_spellings (spelling, word) VALUES ('art', 'part');
INSERT INTO search_spellings (spelling, word) VALUES ('beteen', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('betwee', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('between', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('betwen', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('beween', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('boken', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('brken', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('broen', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('broke', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('broken', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('brokn', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('btween', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('cloes', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('close', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('closes', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('closs', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('clses', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('coses', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('eac', 'each');
INSERT INTO search_spellings (spelling, word) VALUES ('each', 'each');
INSERT INTO search_spellings (spelling, word) VALUES ('eah', 'each');
INSERT INTO search_spellings (spelling, word) VALUES ('ealy', 'early');
INSERT INTO search_spellings (spelling, word) VALUES ('earl', 'early');
INSERT INTO search_spellings (spelling, word) VALUES ('early', 'early');
INSERT INTO search_spellings (spelling, word) VALUES ('eary', 'early');
INSERT INTO search_spellings (spelling, word) VALUES ('ech', 'each');
INSERT INTO search_spellings (spelling, word) VALUES ('een', 'seen');
INSERT INTO search_spellings (spelling, word) VALUES ('epeat', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('erly', 'early');
INSERT INTO search_spellings (spelling, word) VALUES ('erver', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('etry', 'retry');
INSERT INTO search_spellings (spelling, word) VALUES ('etween', 'between');
INSERT INTO search_spellings (spelling, word) VALUES ('ever', 'never');
INSERT INTO search_spellings (spelling, word) VALUES ('fai', 'fail');
INSERT INTO search_spellings (spelling, word) VALUES ('faied', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('fail', 'fail');
INSERT INTO search_spellings (spelling, word) VALUES ('faild', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('faile', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('failed', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('fal', 'fail');
INSERT INTO search_spellings (spelling, word) VALUES ('faled', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('fidings', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('fil', 'fail');
INSERT INTO search_spellings (spelling, word) VALUES ('filed', 'failed');
INSERT INTO search_spellings (spelling, word) VALUES ('findigs', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('finding', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('findings', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('findins', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('findngs', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('finings', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('fndings', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('fnf', 'fünf');
INSERT INTO search_spellings (spelling, word) VALUES ('füf', 'fünf');
INSERT INTO search_spellings (spelling, word) VALUES ('fün', 'fünf');
INSERT INTO search_spellings (spelling, word) VALUES ('fünf', 'fünf');
INSERT INTO search_spellings (spelling, word) VALUES ('hat', 'that');
INSERT INTO search_spellings (spelling, word) VALUES ('hree', 'three');
INSERT INTO search_spellings (spelling, word) VALUES ('icher', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('ight', 'night');
INSERT INTO search_spellings (spelling, word) VALUES ('ime', 'time');
INSERT INTO search_spellings (spelling, word) VALUES ('imes', 'times');
INSERT INTO search_spellings (spelling, word) VALUES ('indings', 'findings');
INSERT INTO search_spellings (spelling, word) VALUES ('lan', 'plan');
INSERT INTO search_spellings (spelling, word) VALUES ('lng', 'long');
INSERT INTO search_spellings (spelling, word) VALUES ('log', 'long');
INSERT INTO search_spellings (spelling, word) VALUES ('lon', 'long');
INSERT INTO search_spellings (spelling, word) VALUES ('long', 'long');
INSERT INTO search_spellings (spelling, word) VALUES ('loses', 'closes');
INSERT INTO search_spellings (spelling, word) VALUES ('neer', 'never');
INSERT INTO search_spellings (spelling, word) VALUES ('neve', 'never');
INSERT INTO search_spellings (spelling, word) VALUES ('never', 'never');
INSERT INTO search_spellings (spelling, word) VALUES ('nevr', 'never');
INSERT INTO search_spellings (spelling, word) VALUES ('nght', 'night');
INSERT INTO search_spellings (spelling, word) VALUES ('nigh', 'night');
INSERT INTO search_spellings (spelling, word) VALUES ('night', 'night');
INSERT INTO search_spellings (spelling, word) VALUES ('nigt', 'night');
INSERT INTO search_spellings (spelling, word) VALUES ('niht', 'night');
INSERT INTO search_spellings (spelling, word) VALUES ('nver', 'never');
INSERT INTO search_spellings (spelling, word) VALUES ('ong', 'long');
INSERT INTO search_spellings (spelling, word) VALUES ('pan', 'plan');
INSERT INTO search_spellings (spelling, word) VALUES ('par', 'part');
INSERT INTO search_spellings (spelling, word) VALUES ('part', 'part');
INSERT INTO search_spellings (spelling, word) VALUES ('pat', 'part');
INSERT INTO search_spellings (spelling, word) VALUES ('pla', 'plan');
INSERT INTO search_spellings (spelling, word) VALUES ('plan', 'plan');
INSERT INTO search_spellings (spelling, word) VALUES ('pln', 'plan');
INSERT INTO search_spellings (spelling, word) VALUES ('ploads', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('prt', 'part');
INSERT INTO search_spellings (spelling, word) VALUES ('reeat', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('repat', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('repea', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('repeat', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('repet', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('rery', 'retry');
INSERT INTO search_spellings (spelling, word) VALUES ('retr', 'retry');
INSERT INTO search_spellings (spelling, word) VALUES ('retry', 'retry');
INSERT INTO search_spellings (spelling, word) VALUES ('rety', 'retry');
INSERT INTO search_spellings (spelling, word) VALUES ('ries', 'tries');
INSERT INTO search_spellings (spelling, word) VALUES ('roken', 'broken');
INSERT INTO search_spellings (spelling, word) VALUES ('rpeat', 'repeat');
INSERT INTO search_spellings (spelling, word) VALUES ('rtry', 'retry');
INSERT INTO search_spellings (spelling, word) VALUES ('scher', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('see', 'seen');
INSERT INTO search_spellings (spelling, word) VALUES ('seen', 'seen');
INSERT INTO search_spellings (spelling, word) VALUES ('sen', 'seen');
INSERT INTO search_spellings (spelling, word) VALUES ('serer', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('serve', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('server', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('servr', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('sever', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('sicer', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('siche', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('sicher', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('sichr', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('siher', 'sicher');
INSERT INTO search_spellings (spelling, word) VALUES ('srver', 'server');
INSERT INTO search_spellings (spelling, word) VALUES ('tat', 'that');
INSERT INTO search_spellings (spelling, word) VALUES ('tha', 'that');
INSERT INTO search_spellings (spelling, word) VALUES ('that', 'that');
INSERT INTO search_spellings (spelling, word) VALUES ('thee', 'three');
INSERT INTO search_spellings (spelling, word) VALUES ('thre', 'three');
INSERT INTO search_spellings (spelling, word) VALUES ('three', 'three');
INSERT INTO search_spellings (spelling, word) VALUES ('tht', 'that');
INSERT INTO search_spellings (spelling, word) VALUES ('tice', 'twice');
INSERT INTO search_spellings (spelling, word) VALUES ('tie', 'time');
INSERT INTO search_spellings (spelling, word) VALUES ('ties', 'times');
INSERT INTO search_spellings (spelling, word) VALUES ('ties', 'tries');
INSERT INTO search_spellings (spelling, word) VALUES ('tim', 'time');
INSERT INTO search_spellings (spelling, word) VALUES ('time', 'time');
INSERT INTO search_spellings (spelling, word) VALUES ('time', 'times');
INSERT INTO search_spellings (spelling, word) VALUES ('times', 'times');
INSERT INTO search_spellings (spelling, word) VALUES ('tims', 'times');
INSERT INTO search_spellings (spelling, word) VALUES ('tme', 'time');
INSERT INTO search_spellings (spelling, word) VALUES ('tmes', 'times');
INSERT INTO search_spellings (spelling, word) VALUES ('tree', 'three');
INSERT INTO search_spellings (spelling, word) VALUES ('tres', 'tries');
INSERT INTO search_spellings (spelling, word) VALUES ('trie', 'tries');
INSERT INTO search_spellings (spelling, word) VALUES ('tries', 'tries');
INSERT INTO search_spellings (spelling, word) VALUES ('tris', 'tries');
INSERT INTO search_spellings (spelling, word) VALUES ('twce', 'twice');
INSERT INTO search_spellings (spelling, word) VALUES ('twic', 'twice');
INSERT INTO search_spellings (spelling, word) VALUES ('twice', 'twice');
INSERT INTO search_spellings (spelling, word) VALUES ('twie', 'twice');
INSERT INTO search_spellings (spelling, word) VALUES ('uloads', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('uplads', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('upload', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('uploads', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('uploas', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('uplods', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('upoads', 'uploads');
INSERT INTO search_spellings (spelling, word) VALUES ('wice', 'twice');
INSERT INTO search_spellings (spelling, word) VALUES ('ünf', 'fünf');
