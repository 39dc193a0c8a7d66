"""Sentences of our own, in pairs that say nearly the same in other words: from four words to forty."""

PAIRS = [
    ('The train was late.',
     'Our train did not arrive on time.'),
    ('How do I reset my password?',
     'I cannot remember the password of my account and would like to choose another one.'),
    ('She bakes bread every Sunday morning.',
     'On Sundays, before noon, she makes fresh loaves in the oven.'),
    ('The parcel was damaged when it was delivered, and two of the six glasses inside were broken.',
     'Two glasses arrived in pieces because the box had been crushed on its way to us.'),
    ('Interest rates rose by half a per cent.',
     'The central bank made borrowing dearer: its rate went up by fifty basis points, the third step of this year, '
     'and most of those who were asked beforehand had expected only half as much.'),
    ('A small dog chased the ball across the wet grass.',
     'The puppy ran over the lawn after its toy.'),
    ('Water boils at a lower temperature in the mountains because the air presses less on it.',
     'High up, where atmospheric pressure is lower, you need less heat before water starts to boil.'),
    ('The compiler inlines this function.',
     'When the program is built, calls of that function are replaced by its body.'),
    ('He broke his arm while skiing and will not play the piano for at least two months.',
     'After a fall on the slope the pianist has a fractured arm and must rest until spring.'),
    ('The museum is closed on Mondays.',
     'You can visit the exhibition on any day but Monday.'),
]
SENTENCES = [sentence for pair in PAIRS for sentence in pair]
